/** What the parser makes of the text: statements with the place of everything that a check may complain about. */
import type { Secret } from './secret.ts';
import type { Range } from './tokens.ts';

/** A name of one to three parts, each folded or unquoted. */
export interface ObjectName {
  readonly parts: readonly string[];
  readonly range: Range;
}

export interface NamedRange {
  readonly name: string;
  readonly range: Range;
}

export type OptionValue =
  | { readonly kind: 'text'; readonly text: string; readonly range: Range }
  | { readonly kind: 'number'; readonly text: string; readonly range: Range }
  | { readonly kind: 'name'; readonly name: ObjectName; readonly range: Range }
  | { readonly kind: 'secret'; readonly name: ObjectName; readonly range: Range };

/** `value` is null for an option that stands alone, which switches a boolean on. */
export interface Option {
  /** Upper case, words separated by one space. */
  readonly name: string;
  readonly range: Range;
  readonly isKnown: boolean;
  readonly value: OptionValue | null;
}

export type SecretSource =
  | { readonly kind: 'text'; readonly secret: Secret }
  | { readonly kind: 'env' | 'file'; readonly from: string; readonly range: Range };

export interface SecretStatement {
  readonly kind: 'secret';
  readonly name: ObjectName;
  readonly ifNotExists: boolean;
  readonly source: SecretSource;
}

export type ConnectionTarget = 'iceberg-catalog' | 'aws' | 'gcp';

export interface ConnectionStatement {
  readonly kind: 'connection';
  readonly name: ObjectName;
  readonly ifNotExists: boolean;
  readonly target: ConnectionTarget;
  readonly options: readonly Option[];
  readonly withOptions: readonly Option[];
}

export interface KeyClause {
  readonly range: Range;
  readonly columns: readonly NamedRange[];
  readonly isEnforced: boolean;
}

export interface SinkStatement {
  readonly kind: 'sink';
  /** null: CREATE SINK without a name. */
  readonly name: ObjectName | null;
  /** The name, or CREATE SINK where there is none: where problems of the whole statement point. */
  readonly range: Range;
  readonly ifNotExists: boolean;
  readonly cluster: string | null;
  readonly from: ObjectName;
  readonly connection: ObjectName;
  readonly tableOptions: readonly Option[];
  readonly usingAws: ObjectName | null;
  readonly key: KeyClause | null;
  /** As written, in lower case. */
  readonly mode: NamedRange | null;
  readonly envelope: Range | null;
  readonly withOptions: readonly Option[];
}

/** A statement that doesn't parse, as far as it is known: its name is taken, so that nobody misses it. */
export interface BrokenStatement {
  readonly kind: 'broken';
  readonly of: 'secret' | 'connection' | 'sink' | null;
  readonly name: ObjectName | null;
}

export type Statement = SecretStatement | ConnectionStatement | SinkStatement | BrokenStatement;
