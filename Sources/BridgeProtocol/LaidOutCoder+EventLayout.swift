package import CBOR
package import DomainEvents

extension LaidOutCoder {
    package convenience init(_ layout: EventLayout<Event>) {
        self.init(
            layout.fields.map { field in
                Field(name: field.name, offset: field.offset, argument: field.argument, type: field.type)
            },
            argumentBytes: layout.argumentBytes,
            argumentAlignment: layout.argumentAlignment,
            make: layout.make
        )
    }
}
