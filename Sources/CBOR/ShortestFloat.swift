/// Finds which of CBOR's three floating-point widths holds a number without loss.
///
/// It handles halves, infinities and NaNs by their bits. So signed zeros, subnormals and NaN payloads survive on every
/// platform, even without `Float16`.
enum ShortestFloat {
    case half(UInt16)
    case single(UInt32)
    case double(UInt64)

    init(_ value: Double) {
        let bits = value.bitPattern
        // A single has 23 of the 52 fraction bits: any bit set in the lower 29 needs the double.
        guard bits & 0x1FFF_FFFF == 0 else {
            self = .double(bits)
            return
        }
        let sign = bits >> 63
        guard value.isFinite else {
            let fraction = bits & 0xF_FFFF_FFFF_FFFF
            if fraction & 0x3FF_FFFF_FFFF == 0 {
                self = .half(UInt16(truncatingIfNeeded: sign << 15 | 0x7C00 | fraction >> 42))
            } else {
                self = .single(UInt32(truncatingIfNeeded: sign << 31 | 0x7F80_0000 | fraction >> 29))
            }
            return
        }
        let single = Float(value)
        guard Double(single) == value else {
            self = .double(bits)
            return
        }
        if let half = ShortestFloat.half(of: single.bitPattern) {
            self = .half(half)
        } else {
            self = .single(single.bitPattern)
        }
    }

    private static func half(of bits: UInt32) -> UInt16? {
        let sign = UInt16(truncatingIfNeeded: bits >> 16) & 0x8000
        let fraction = bits & 0x7F_FFFF
        let exponent = Int(bits >> 23 & 0xFF) - 127
        switch exponent {
        case -127:
            return fraction == 0 ? sign : nil
        case -14...15:
            guard fraction & 0x1FFF == 0 else { return nil }
            return sign | UInt16(truncatingIfNeeded: exponent + 15) << 10 | UInt16(truncatingIfNeeded: fraction >> 13)
        case -24..<(-14):
            let significand = fraction | 0x80_0000
            let shift = UInt32(-1 - exponent)
            guard significand & ((1 << shift) - 1) == 0 else { return nil }
            return sign | UInt16(truncatingIfNeeded: significand >> shift)
        default:
            return nil
        }
    }
}

extension Double {
    /// Widens a half-precision number given by its bits.
    @usableFromInline
    init(halfBitPattern bits: UInt16) {
        let sign = UInt64(bits >> 15) << 63
        let exponent = UInt64(bits >> 10 & 0x1F)
        let fraction = UInt64(bits & 0x3FF)
        switch exponent {
        case 0:
            // Subnormal halves are whole multiples of 2^-24.
            let magnitude = Double(fraction) * 0x1p-24
            self.init(bitPattern: sign | magnitude.bitPattern)
        case 31:
            self.init(bitPattern: sign | 0x7FF << 52 | fraction << 42)
        default:
            self.init(bitPattern: sign | (exponent + 1008) << 52 | fraction << 42)
        }
    }

    /// Widens a single-precision number given by its bits, signalling NaNs included.
    @usableFromInline
    init(singleBitPattern bits: UInt32) {
        let single = Float(bitPattern: bits)
        if single.isNaN {
            self.init(bitPattern: UInt64(bits >> 31) << 63 | 0x7FF << 52 | UInt64(bits & 0x7F_FFFF) << 29)
        } else {
            self.init(single)
        }
    }
}
