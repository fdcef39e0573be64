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
        #expect(try hex(Date(timeIntervalSince1970: 0.999_999_9)) == "c101")
    }

    @Test("a date keeps its microsecond and is stable after the first trip")
    func dateStability() throws {
        var random = SeededGenerator.announced()
        var intervals: [Double] = [
            0, 0.5, -0.000_001, 0.000_001, 978_307_200.000_001, 4_294_967_295.999_999, -2e9, 1e12,
        ]
        for _ in 0..<20_000 {
            intervals.append(
                Double(Int64.random(in: -2_000_000_000_000_000...4_200_000_000_000_000, using: &random)) / 1e6
            )
            intervals.append(Double.random(in: -1e11...1e11, using: &random))
        }
        for interval in intervals {
            let date = Date(timeIntervalSinceReferenceDate: interval - 978_307_200)
            let bytes = try CBOREncoder().encode(date)
            let back = try CBORDecoder().decode(Date.self, from: bytes)
            #expect(try CBOREncoder().encode(back) == bytes, "\(interval)")
            if interval > -0x1p31, interval < 0x1p32 {
                #expect(microsecond(date) == microsecond(back), "\(interval)")
            }
        }
        #expect(throws: CBORError.self) { try hex(Date(timeIntervalSince1970: .infinity)) }
        #expect(throws: CBORError.self) { try hex(Date(timeIntervalSince1970: .nan)) }
        _ = try roundTrip(Date.distantPast)
        _ = try roundTrip(Date.distantFuture)
        _ = try roundTrip(Date(timeIntervalSince1970: 1e300))
    }

    private func microsecond(_ date: Date) -> Double {
        let whole = date.timeIntervalSinceReferenceDate.rounded(.down)
        return whole * 1_000_000 + ((date.timeIntervalSinceReferenceDate - whole) * 1_000_000).rounded()
    }

    @Test(
        "dates are read from RFC 3339 text",
        arguments: [
            ("2013-03-21T20:04:00Z", 1_363_896_240),
            ("2013-03-21T21:04:00.5+01:00", 1_363_896_240.5),
            ("1970-01-01t00:00:00.0000004z", 0),
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
        // A zero is written as one number, however it was come by: as a text, or as the double 0.0.
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

    @Test("tags count as levels when encoding")
    func depth() throws {
        let limits = CBORLimits(maximumDepth: 2)
        _ = try CBOREncoder(limits: limits).encode([Date(timeIntervalSince1970: 0)])
        #expect(throws: CBORError.self) { try CBOREncoder(limits: limits).encode([[Date(timeIntervalSince1970: 0)]]) }
        #expect(throws: CBORError.self) { try CBOREncoder(limits: limits).encode([Decimal(1)]) }
    }
}
