import type {
  TArrayOptions,
  TNumberOptions,
  TObjectOptions,
  TProperties,
  TSchema,
  TSchemaOptions,
  TStringOptions,
} from 'typebox';
import { Type } from 'typebox';

/** A text is used as the description of the schema. */
const read = <Options extends TSchemaOptions>(about: Options | string = {} as Options): Options =>
  typeof about === 'string' ? ({ description: about } as Options) : about;

/** Schemas of optional members. */
export const optional = {
  text: (about?: TStringOptions | string) => Type.Optional(Type.String(read(about))),
  integer: (about?: TNumberOptions | string) => Type.Optional(Type.Integer(read(about))),
  number: (about?: TNumberOptions | string) => Type.Optional(Type.Number(read(about))),
  flag: (about?: TSchemaOptions | string) => Type.Optional(Type.Boolean(read(about))),
  list: <Element extends TSchema>(element: Element, about?: TArrayOptions | string) =>
    Type.Optional(Type.Array(element, read(about))),
  choice: <Words extends string[]>(words: readonly [...Words], about?: TSchemaOptions | string) =>
    Type.Optional(Type.Enum(words, read(about))),
  object: <Members extends TProperties>(members: Members, about?: TObjectOptions | string) =>
    Type.Optional(Type.Object(members, read(about))),
};
