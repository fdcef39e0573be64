import CBOR
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Dates, data, UUIDs, URLs, decimals")
struct SpecialTypeTests {
    @Test("dates are tag 1, whole seconds as integers")
    func dateForms() throws {
        #expect(try hex(Date(timeIntervalSince1970: 1_363_896_240)) == "c11a514b67b0")
        #expect(try hex(Date(timeIntervalSince1970: 1_363_896_240.5)) == "c1fb41d452d9ec200000")
        #expect(try hex(Date(timeIntervalSince1970: -1)) == "c120")
        #expect(try hex(Date(timeIntervalSince1970: 0.5)) == "c1f93800")
    }

    @Test("a date that no double of seconds since 1970 can hold is tag 1001, with nanoseconds or as it is")
    func extendedDateForms() throws {
        // 2⁻²³ s, a step that for present-day dates only a double of seconds since 2001 has.
        let step = 1 / 0x1p23
        let fine = Date(timeIntervalSinceReferenceDate: 700_000_000 + step)
        #expect(try hex(fine) == "d903e9a2011a6408ef80281877")
        let late = Date(timeIntervalSinceReferenceDate: 700_000_001 - step)
        #expect(try hex(late) == "d903e9a2011a6408ef80281a3b9ac989")
        let near = Date(timeIntervalSinceReferenceDate: 1e-300)
        #expect(try hex(near) == "d903e9a201fa4e693f226973696e636532303031fb01a56e1fc2f8f359")
    }

    @Test("every date comes back equal to itself")
    func dateStability() throws {
        var random = SeededGenerator.announced()
        var dates: [Date] = [.distantPast, .distantFuture, Date(), Date(timeIntervalSince1970: 1e300)]
        for sign in [1.0, -1.0] {
            for exponent in -1074...1023 {
                let power = Double(sign: .plus, exponent: exponent, significand: sign)
                dates += [power.nextDown, power, power.nextUp].map(Date.init(timeIntervalSinceReferenceDate:))
                dates += [power.nextDown, power, power.nextUp].map(Date.init(timeIntervalSince1970:))
            }
        }
        for _ in 0..<20_000 {
            dates.append(Date(timeIntervalSinceReferenceDate: Double.random(in: 6e8...1e9, using: &random)))
            dates.append(Date(timeIntervalSinceReferenceDate: Double.random(in: -1e11...1e11, using: &random)))
            dates.append(Date(timeIntervalSinceReferenceDate: Double.random(in: -1e7...1e7, using: &random)))
            let microseconds = Int64.random(in: -2_000_000_000_000_000...4_200_000_000_000_000, using: &random)
            dates.append(Date(timeIntervalSince1970: Double(microseconds) / 1e6))
            let bits = Double(bitPattern: .random(in: 0 ... .max, using: &random))
            if bits.isFinite { dates.append(Date(timeIntervalSinceReferenceDate: bits)) }
        }
        for date in dates {
            let bytes = try CBOREncoder().encode(date)
            let back = try CBORDecoder().decode(Date.self, from: bytes)
            #expect(back == date, "\(date.timeIntervalSinceReferenceDate)")
        }
        #expect(throws: CBORError.self) { try hex(Date(timeIntervalSince1970: .infinity)) }
        #expect(throws: CBORError.self) { try hex(Date(timeIntervalSince1970: .nan)) }
    }

    @Test(
        "extended times of others are read, and what is not known is refused",
        arguments: [
            ("d903e9a1011a514b67b0", 1_363_896_240),
            ("d903e9a101fb41d452d9ec200000", 1_363_896_240.5),
            ("d903e9a2281a1dcd6500011a514b67b0", 1_363_896_240.5),
            ("d903e9a20120281a1dcd6500", -0.5),
            // No base; a base of another kind; two bases; nanoseconds of a double, too many, below zero; a time scale;
            // more keys.
            ("d903e9a0", nil), ("d903e9a10161", nil), ("d903e9a201010101", nil), ("d903e9a201f938002801", nil),
            ("d903e9a20101281a3b9aca00", nil), ("d903e9a201012820", nil), ("d903e9a201012001", nil),
            ("d903e9a3010128012001", nil), ("d903e901", nil), ("d903e9a101f97e00", nil),
            ("d903e9a201016973696e636532303031f97c00", nil), ("d903e9a201016161f90000", nil),
            ("d903e9a1013b7fffffffffffffff", nil),
            // Two times that differ.
            ("d903e9a201006973696e636532303031fb41cdcd6500000000", nil),
        ] as [(String, Double?)]
    )
    func extendedTimes(form: String, seconds: Double?) throws {
        if let seconds {
            #expect(try decoded(Date.self, hex: form) == Date(timeIntervalSince1970: seconds))
        } else {
            #expect(throws: CBORError.self) { try decoded(Date.self, hex: form) }
        }
    }

    @Test(
        "dates are read from RFC 3339 text",
        arguments: [
            ("2013-03-21T20:04:00Z", 1_363_896_240),
            ("2013-03-21T21:04:00.5+01:00", 1_363_896_240.5),
            ("1970-01-01t00:00:00.0000004z", 0.000_000_4),
            ("1969-12-31T23:59:59.99999999999Z", 0),
            ("1969-12-31T23:59:59.999999Z", -0.000_001),
            ("2000-02-29T00:00:00-00:30", 951_784_200),
            ("1990-12-31T23:59:60Z", 662_688_000),
            ("0001-01-01T00:00:00Z", -62_135_596_800),
        ] as [(String, Double)]
    )
    func dateText(text: String, seconds: Double) throws {
        let bytes = try CBOREncoder().encode([text])
        let dates = try CBORDecoder().decode([Date].self, from: bytes)
        #expect(dates == [Date(timeIntervalSince1970: seconds)])
        let tagged = try CBORValue.tagged(0, .text(text)).encoded()
        #expect(try CBORDecoder().decode(Date.self, from: tagged) == dates[0])
    }

    @Test(
        "text that is no date is refused",
        arguments: [
            "", "2013-03-21", "2013-02-29T00:00:00Z", "2013-13-01T00:00:00Z", "2013-03-21T24:00:00Z",
            "2013-03-21T20:04:00", "2013-03-21T20:04:00.Z", "2013-03-21T20:04:00Zx", "2013-03-21T20:04:00+1:00",
            "2013-03-00T00:00:00Z",
        ]
    )
    func badDateText(text: String) throws {
        let error = cborError { _ = try CBORDecoder().decode([Date].self, from: CBOREncoder().encode([text])) }
        #expect(error?.path == "[0]")
        guard case .invalidValue = error?.code else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("data, UUIDs and URLs have their tags, and are read from text")
    func taggedForms() throws {
        #expect(try hex(Data([1, 2])) == "420102")
        let uuid = try #require(UUID(uuidString: "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"))
        #expect(try hex(uuid) == "d82550f81d4fae7dec11d0a76500a0c91e6bf6")
        let url = try #require(URL(string: "http://www.example.com"))
        #expect(try hex(url) == "d82076687474703a2f2f7777772e6578616d706c652e636f6d")
        let decoder = CBORDecoder()
        #expect(try decoder.decode(UUID.self, from: CBOREncoder().encode(uuid.uuidString)) == uuid)
        #expect(try decoder.decode(URL.self, from: CBOREncoder().encode("http://www.example.com")) == url)
        #expect(try decoder.decode(Data.self, from: CBOREncoder().encode("AQI=")) == Data([1, 2]))
        #expect(throws: CBORError.self) { try decoder.decode(Data.self, from: CBOREncoder().encode("?")) }
        #expect(throws: CBORError.self) { try decoder.decode(UUID.self, from: CBOREncoder().encode("?")) }
        #expect(throws: CBORError.self) { try decoded(UUID.self, hex: "d825420102") }
        #expect(throws: CBORError.self) { try decoded(Date.self, hex: "01") }
        #expect(throws: CBORError.self) { try decoded(Date.self, hex: "c1f97c00") }
    }

    @Test("decimals are tag 4 and keep every digit")
    func decimals() throws {
        #expect(try hex(Decimal(string: "273.15")) == "c48221196ab3")
        for text in [
            "0", "-1", "1.5", "-273.15", "18446744073709551616", "-18446744073709551616", "-18446744073709551617",
            "340282366920938463463374607431768211455", "-0.00000000000000000001", "99999999999999999999999999.999",
        ] {
            let decimal = try #require(Decimal(string: text))
            #expect(try roundTrip(decimal) == decimal, "\(text)")
        }
        for exponent in [-127, 0, 127] {
            let decimal = Decimal(sign: .minus, exponent: exponent, significand: 7)
            #expect(try roundTrip(decimal) == decimal)
        }
        // A zero is always written as the same number, whether it comes from a text or from the double 0.0.
        for zero in [Decimal(0), try #require(Decimal(string: "0.000")), try decoded(hex: "fb0000000000000000")] {
            #expect(try hex(zero) == "c4820000")
        }
        #expect(throws: CBORError.self) { try hex(Decimal.nan) }
        #expect(try decoded(Decimal.self, hex: "05") == 5)
        #expect(try decoded(Decimal.self, hex: "fb3ff199999999999a") == Decimal(string: "1.1"))
        #expect(try decoded(Decimal.self, hex: "c249010000000000000000") == Decimal(string: "18446744073709551616"))
        #expect(throws: CBORError.self) { try decoded(Decimal.self, hex: "c482190fff01") }
        #expect(throws: CBORError.self) { try decoded(Decimal.self, hex: "c4821b7fffffffffffffff01") }
        #expect(throws: CBORError.self) { try decoded(Decimal.self, hex: "c4830001") }
    }

    @Test("a mantissa of sixteen bytes is read if a decimal holds it exactly, and refused otherwise")
    func longestMantissa() throws {
        let ones = String(repeating: "ff", count: 15)
        let greatest = try #require(Decimal(string: "340282366920938463463374607431768211455"))
        #expect(try decoded(Decimal.self, hex: "c250\(ones)ff") == greatest)
        #expect(try decoded(Decimal.self, hex: "c350\(ones)fe") == -greatest)
        #expect(try hex(-greatest) == "c48200c350\(ones)fe")
        // -2¹²⁸ has 39 digits, of which a decimal would round the last one.
        #expect(throws: CBORError.self) { try decoded(Decimal.self, hex: "c350\(ones)ff") }
        #expect(throws: CBORError.self) { try decoded(Decimal.self, hex: "c48200c350\(ones)ff") }
    }

    @Test("tags count as levels when encoding")
    func depth() throws {
        let limits = CBORLimits(maximumDepth: 2)
        _ = try CBOREncoder(limits: limits).encode([UUID()])
        #expect(throws: CBORError.self) { try CBOREncoder(limits: limits).encode([[UUID()]]) }
        // A date counts with the most levels that it may need, whatever form it gets.
        _ = try CBOREncoder(limits: limits).encode(Date(timeIntervalSince1970: 0))
        #expect(throws: CBORError.self) { try CBOREncoder(limits: limits).encode([Date(timeIntervalSince1970: 0)]) }
        #expect(throws: CBORError.self) { try CBOREncoder(limits: limits).encode([Decimal(1)]) }
    }

    @Test("what can be encoded within a depth can be decoded within it, whatever the type", arguments: 1...5)
    func sameDepth(maximumDepth: Int) throws {
        let limits = CBORLimits(maximumDepth: maximumDepth)
        func check<T: Codable & Equatable>(_ value: T, takes levels: Int) throws {
            let encoder = CBOREncoder(limits: limits)
            guard maximumDepth > levels else {
                #expect(throws: CBORError.self) { try encoder.encode([value]) }
                return
            }
            let bytes = try encoder.encode([value])
            #expect(try CBORDecoder(limits: limits).decode([T].self, from: bytes) == [value])
        }
        let long = try #require(Decimal(string: "18446744073709551616"))
        for decimal in [1, long, -long - 1] { try check(decimal, takes: 3) }
        let fine = Date(timeIntervalSinceReferenceDate: 700_000_000 + 1 / 0x1p23)
        for date in [Date(timeIntervalSince1970: 0), fine] { try check(date, takes: 2) }
        try check(UUID(), takes: 1)
        try check(try #require(URL(string: "http://www.example.com")), takes: 1)
        try check(Data([1]), takes: 0)
    }
}
