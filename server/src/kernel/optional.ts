import type * as typebox from 'typebox';
import { Type } from 'typebox';

/** A text is the description. */
const read = <Options extends typebox.TSchemaOptions>(about: Options | string = {} as Options): Options =>
  typeof about === 'string' ? ({ description: about } as Options) : about;

/** Schemas of optional members. */
export const optional = {
  text: (about?: typebox.TStringOptions | string) => Type.Optional(Type.String(read(about))),
  integer: (about?: typebox.TNumberOptions | string) => Type.Optional(Type.Integer(read(about))),
  number: (about?: typebox.TNumberOptions | string) => Type.Optional(Type.Number(read(about))),
  flag: (about?: typebox.TSchemaOptions | string) => Type.Optional(Type.Boolean(read(about))),
  list: <Element extends typebox.TSchema>(element: Element, about?: typebox.TArrayOptions | string) =>
    Type.Optional(Type.Array(element, read(about))),
  choice: <Words extends string[]>(words: readonly [...Words], about?: typebox.TSchemaOptions | string) =>
    Type.Optional(Type.Enum(words, read(about))),
  object: <Members extends typebox.TProperties>(members: Members, about?: typebox.TObjectOptions | string) =>
    Type.Optional(Type.Object(members, read(about))),
};
