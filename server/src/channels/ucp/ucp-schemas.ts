import { type Static, Type } from 'typebox';

const Amount = Type.Integer({ minimum: 0 });
export const UcpFilters = Type.Object({
  /** Names, or paths separated by ` > `. */
  categories: Type.Optional(Type.Array(Type.String({ maxLength: 1_000 }), { maxItems: 50 })),
  /** In minor units. */
  price: Type.Optional(Type.Object({ min: Type.Optional(Amount), max: Type.Optional(Amount) })),
});
export type UcpFilters = Static<typeof UcpFilters>;

const Text = Type.String({ maxLength: 1_000 });
export const ProductRequest = Type.Object({
  id: Text,
  selected: Type.Optional(Type.Array(Type.Object({ name: Text, label: Text }), { maxItems: 50 })),
  preferences: Type.Optional(Type.Array(Text, { maxItems: 50 })),
  filters: Type.Optional(UcpFilters),
  /** Identifiers or groups that the product must be usable with. */
  compatibility: Type.Optional(Type.Object({ with: Type.Array(Text, { maxItems: 50 }) })),
});
export type ProductRequest = Static<typeof ProductRequest>;

export interface UcpSearch {
  readonly query: string;
  readonly filters: UcpFilters;
  readonly offset: number;
  readonly limit: number;
}

export interface UcpLookup {
  readonly ids: readonly string[];
  readonly filters: UcpFilters;
}

/**
 * The cost of a question of a channel: bytes of uploads that were read, and milliseconds of the thread that read them.
 */
export interface UcpUse {
  readonly bytes: number;
  readonly ms: number;
}
