import {
  type TArrayOptions,
  type TNumberOptions,
  type TSchema,
  type TSchemaOptions,
  type TStringOptions,
  Type,
} from 'typebox';

/** Schemas of members that may be left out. */
export const optional = {
  text: (about?: TStringOptions) => Type.Optional(Type.String(about)),
  integer: (about?: TNumberOptions) => Type.Optional(Type.Integer(about)),
  number: (about?: TNumberOptions) => Type.Optional(Type.Number(about)),
  flag: (description?: string) =>
    Type.Optional(Type.Boolean(description === undefined ? {} : { description })),
  list: <Element extends TSchema>(element: Element, about?: TArrayOptions) =>
    Type.Optional(Type.Array(element, about)),
  choice: <Words extends string[]>(words: readonly [...Words], about?: TSchemaOptions) =>
    Type.Optional(Type.Enum(words, about)),
};
