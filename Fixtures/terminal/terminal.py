#!/usr/bin/env python3
"""Runs a program at a terminal of its own, as a shell does in a window: terminal.py COLUMNS PROGRAM ARGUMENT...

What appears on the screen comes on standard output. Each line of standard input is an order, in JSON:

    {"type": "text"}      the user types it; \\u0003 is Ctrl-C, \\u001a is Ctrl-Z
    {"columns": 40}       the window becomes 40 columns wide
    {"hold": true}        the screen stands still: nothing that is printed is read, until {"hold": false}
    {"continue": true}    a program that was stopped goes on, as with `fg`

Standard error says what becomes of the program: "started", "stopped", "ended 0", "ended by signal 2". It also says that
the window has its new width: "40 columns".
"""

import fcntl
import json
import os
import select
import signal
import struct
import sys
import termios


def resize(descriptor, columns):
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def be_program(terminal, arguments):
    """Becomes the program: a job of its own, in the foreground, with the signals as a shell leaves them."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(terminal, os.getpid())
    for number in (signal.SIGTTOU, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    for standard in (0, 1, 2):
        os.dup2(terminal, standard)
    os.closerange(3, 256)
    os.execvp(arguments[0], arguments)


def be_shell(terminal, reports, arguments):
    """Leads the session, without which no key could stop a program, and reports what becomes of the program."""
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    # A key for the program may come before the program is in the foreground.
    for number in (signal.SIGINT, signal.SIGTSTP, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    program = os.fork()
    if program == 0:
        for number in (signal.SIGINT, signal.SIGTSTP, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        be_program(terminal, arguments)
    os.write(reports, b"started %d\n" % program)
    while True:
        _, status = os.waitpid(program, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            os.write(reports, b"stopped\n")
        else:
            code = os.waitstatus_to_exitcode(status)
            text = "ended %d\n" % code if code >= 0 else "ended by signal %d\n" % -code
            os.write(reports, text.encode())
            os._exit(0)


def main():
    master, terminal = os.openpty()
    resize(master, int(sys.argv[1]))
    modes = termios.tcgetattr(terminal)
    # The echo of typed text would stand among the program's output.
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
    reports, told = os.pipe()
    if os.fork() == 0:
        os.close(master)
        os.close(reports)
        be_shell(terminal, told, sys.argv[2:])
    os.close(terminal)
    os.close(told)
    program, holds, orders, news = 0, False, b"", b""
    sources = {0, master, reports}
    while master in sources or reports in sources:
        waiting = [source for source in sources if source != master or not holds]
        for source in select.select(waiting, [], [])[0]:
            try:
                data = os.read(source, 65536)
            except OSError:
                # No process has the terminal open any more.
                data = b""
            if not data:
                sources.discard(source)
                # Output that is still held is shown at the end.
                holds = holds and reports in sources
            elif source == master:
                while data:
                    data = data[os.write(1, data) :]
            elif source == reports:
                *lines, news = (news + data).split(b"\n")
                for line in lines:
                    if line.startswith(b"started "):
                        program = int(line.split()[1])
                        line = b"started"
                    os.write(2, line + b"\n")
            else:
                *lines, orders = (orders + data).split(b"\n")
                for order in map(json.loads, lines):
                    if "type" in order:
                        os.write(master, order["type"].encode())
                    if "columns" in order:
                        resize(master, order["columns"])
                        os.write(2, b"%d columns\n" % order["columns"])
                    holds = order.get("hold", holds)
                    if "continue" in order:
                        os.killpg(program, signal.SIGCONT)


main()
