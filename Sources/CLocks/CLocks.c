#include "CLocks.h"

int cl_simulations = 0;
