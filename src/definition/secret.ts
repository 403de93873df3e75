/**
 * A secret value that can't be printed by accident: String(), JSON, inspect() and template literals show
 * `<redacted>`. Only `reveal()` gives the text, and only `io/` calls it, at the moment of use.
 */
export class Secret {
  readonly #value: string;
  /** The name under which CREATE SECRET defined it; null for a value given in place. Safe to print. */
  readonly reference: string | null;

  constructor(value: string, reference: string | null = null) {
    this.#value = value;
    this.reference = reference;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '<redacted>';
  }

  toJSON(): string {
    return '<redacted>';
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '<redacted>';
  }
}
