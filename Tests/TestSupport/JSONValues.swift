package import JSONText

/// The text that a node of a JSON document is; nil if it is none.
package func text(_ node: JSONNode?) -> String? {
    if case .string(let text)? = node?.value { text } else { nil }
}

/// The number that a node of a JSON document is; nil if it is none.
package func number(_ node: JSONNode?) -> Double? {
    switch node?.value {
    case .unsigned(let number)?: Double(number)
    case .number(let number)?: number
    default: nil
    }
}
