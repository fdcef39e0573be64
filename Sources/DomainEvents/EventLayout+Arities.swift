/// Layouts of up to eight fields.
///
/// A parameter pack allocates memory for its values in each call, and looks up the type of their tuple. These
/// initializers do neither, and the compiler can specialise them for the event's own types.
extension EventLayout {
    /// A layout of one field.
    @inlinable
    public init<A: Codable & Sendable>(
        _ make: @escaping @Sendable (A) throws -> Event,
        _ a: EventField<Event, A>
    ) {
        var place = ArgumentPlace()
        let fields = [place.next(a)]
        self.init(fields, place) { arguments in
            var place = ArgumentPlace()
            let a = place.take(A.self, from: arguments)
            return try make(a)
        }
    }

    /// A layout of two fields.
    @inlinable
    public init<A: Codable & Sendable, B: Codable & Sendable>(
        _ make: @escaping @Sendable (A, B) throws -> Event,
        _ a: EventField<Event, A>,
        _ b: EventField<Event, B>
    ) {
        var place = ArgumentPlace()
        let fields = [place.next(a), place.next(b)]
        self.init(fields, place) { arguments in
            var place = ArgumentPlace()
            let a = place.take(A.self, from: arguments)
            let b = place.take(B.self, from: arguments)
            return try make(a, b)
        }
    }

    /// A layout of three fields.
    @inlinable
    public init<A: Codable & Sendable, B: Codable & Sendable, C: Codable & Sendable>(
        _ make: @escaping @Sendable (A, B, C) throws -> Event,
        _ a: EventField<Event, A>,
        _ b: EventField<Event, B>,
        _ c: EventField<Event, C>
    ) {
        var place = ArgumentPlace()
        let fields = [place.next(a), place.next(b), place.next(c)]
        self.init(fields, place) { arguments in
            var place = ArgumentPlace()
            let a = place.take(A.self, from: arguments)
            let b = place.take(B.self, from: arguments)
            let c = place.take(C.self, from: arguments)
            return try make(a, b, c)
        }
    }

    /// A layout of four fields.
    @inlinable
    public init<
        A: Codable & Sendable,
        B: Codable & Sendable,
        C: Codable & Sendable,
        D: Codable & Sendable
    >(
        _ make: @escaping @Sendable (A, B, C, D) throws -> Event,
        _ a: EventField<Event, A>,
        _ b: EventField<Event, B>,
        _ c: EventField<Event, C>,
        _ d: EventField<Event, D>
    ) {
        var place = ArgumentPlace()
        let fields = [place.next(a), place.next(b), place.next(c), place.next(d)]
        self.init(fields, place) { arguments in
            var place = ArgumentPlace()
            let a = place.take(A.self, from: arguments)
            let b = place.take(B.self, from: arguments)
            let c = place.take(C.self, from: arguments)
            let d = place.take(D.self, from: arguments)
            return try make(a, b, c, d)
        }
    }

    /// A layout of five fields.
    @inlinable
    public init<
        A: Codable & Sendable,
        B: Codable & Sendable,
        C: Codable & Sendable,
        D: Codable & Sendable,
        E: Codable & Sendable
    >(
        _ make: @escaping @Sendable (A, B, C, D, E) throws -> Event,
        _ a: EventField<Event, A>,
        _ b: EventField<Event, B>,
        _ c: EventField<Event, C>,
        _ d: EventField<Event, D>,
        _ e: EventField<Event, E>
    ) {
        var place = ArgumentPlace()
        let fields = [
            place.next(a),
            place.next(b),
            place.next(c),
            place.next(d),
            place.next(e),
        ]
        self.init(fields, place) { arguments in
            var place = ArgumentPlace()
            let a = place.take(A.self, from: arguments)
            let b = place.take(B.self, from: arguments)
            let c = place.take(C.self, from: arguments)
            let d = place.take(D.self, from: arguments)
            let e = place.take(E.self, from: arguments)
            return try make(a, b, c, d, e)
        }
    }

    /// A layout of six fields.
    @inlinable
    public init<
        A: Codable & Sendable,
        B: Codable & Sendable,
        C: Codable & Sendable,
        D: Codable & Sendable,
        E: Codable & Sendable,
        F: Codable & Sendable
    >(
        _ make: @escaping @Sendable (A, B, C, D, E, F) throws -> Event,
        _ a: EventField<Event, A>,
        _ b: EventField<Event, B>,
        _ c: EventField<Event, C>,
        _ d: EventField<Event, D>,
        _ e: EventField<Event, E>,
        _ f: EventField<Event, F>
    ) {
        var place = ArgumentPlace()
        let fields = [
            place.next(a),
            place.next(b),
            place.next(c),
            place.next(d),
            place.next(e),
            place.next(f),
        ]
        self.init(fields, place) { arguments in
            var place = ArgumentPlace()
            let a = place.take(A.self, from: arguments)
            let b = place.take(B.self, from: arguments)
            let c = place.take(C.self, from: arguments)
            let d = place.take(D.self, from: arguments)
            let e = place.take(E.self, from: arguments)
            let f = place.take(F.self, from: arguments)
            return try make(a, b, c, d, e, f)
        }
    }

    /// A layout of seven fields.
    @inlinable
    public init<
        A: Codable & Sendable,
        B: Codable & Sendable,
        C: Codable & Sendable,
        D: Codable & Sendable,
        E: Codable & Sendable,
        F: Codable & Sendable,
        G: Codable & Sendable
    >(
        _ make: @escaping @Sendable (A, B, C, D, E, F, G) throws -> Event,
        _ a: EventField<Event, A>,
        _ b: EventField<Event, B>,
        _ c: EventField<Event, C>,
        _ d: EventField<Event, D>,
        _ e: EventField<Event, E>,
        _ f: EventField<Event, F>,
        _ g: EventField<Event, G>
    ) {
        var place = ArgumentPlace()
        let fields = [
            place.next(a),
            place.next(b),
            place.next(c),
            place.next(d),
            place.next(e),
            place.next(f),
            place.next(g),
        ]
        self.init(fields, place) { arguments in
            var place = ArgumentPlace()
            let a = place.take(A.self, from: arguments)
            let b = place.take(B.self, from: arguments)
            let c = place.take(C.self, from: arguments)
            let d = place.take(D.self, from: arguments)
            let e = place.take(E.self, from: arguments)
            let f = place.take(F.self, from: arguments)
            let g = place.take(G.self, from: arguments)
            return try make(a, b, c, d, e, f, g)
        }
    }

    /// A layout of eight fields.
    @inlinable
    public init<
        A: Codable & Sendable,
        B: Codable & Sendable,
        C: Codable & Sendable,
        D: Codable & Sendable,
        E: Codable & Sendable,
        F: Codable & Sendable,
        G: Codable & Sendable,
        H: Codable & Sendable
    >(
        _ make: @escaping @Sendable (A, B, C, D, E, F, G, H) throws -> Event,
        _ a: EventField<Event, A>,
        _ b: EventField<Event, B>,
        _ c: EventField<Event, C>,
        _ d: EventField<Event, D>,
        _ e: EventField<Event, E>,
        _ f: EventField<Event, F>,
        _ g: EventField<Event, G>,
        _ h: EventField<Event, H>
    ) {
        var place = ArgumentPlace()
        let fields = [
            place.next(a),
            place.next(b),
            place.next(c),
            place.next(d),
            place.next(e),
            place.next(f),
            place.next(g),
            place.next(h),
        ]
        self.init(fields, place) { arguments in
            var place = ArgumentPlace()
            let a = place.take(A.self, from: arguments)
            let b = place.take(B.self, from: arguments)
            let c = place.take(C.self, from: arguments)
            let d = place.take(D.self, from: arguments)
            let e = place.take(E.self, from: arguments)
            let f = place.take(F.self, from: arguments)
            let g = place.take(G.self, from: arguments)
            let h = place.take(H.self, from: arguments)
            return try make(a, b, c, d, e, f, g, h)
        }
    }
}
