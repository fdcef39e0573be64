package import JSONText

/// The text of a JSON node; nil if the node is no text.
package func text(_ node: JSONNode?) -> String? {
    if case .string(let text)? = node?.value { text } else { nil }
}

/// The number of a JSON node; nil if the node is no number.
package func number(_ node: JSONNode?) -> Double? {
    switch node?.value {
    case .unsigned(let number)?: Double(number)
    case .number(let number)?: number
    default: nil
    }
}
