/**
 * A secret value that can't be printed by accident: String(), JSON, inspect() and template literals show
 * `<redacted>`. Only `reveal()` gives the text, and only `io/` calls it, at the moment of use.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
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
