/** Of a definition each of source, format and trigger: what else it has depends on its type. */
export type Typed = Readonly<Record<string, unknown>>;

export const textOf = (part: Typed, name: string): string =>
  part[name] === undefined ? '' : String(part[name]);

export const typeOf = (part: Typed): string => textOf(part, 'type');

/** @returns the part with another value; an empty one is left out, so that the service finds it out */
export function withOption(part: Typed, name: string, value: unknown): Record<string, unknown> {
  const { [name]: _, ...others } = part;
  return value === '' || value === undefined ? others : { ...others, [name]: value };
}

/** The same, but an empty value is one: an option is left out only by undefined. */
export const withValue = (part: Typed, name: string, value: unknown): Record<string, unknown> =>
  value === '' ? { ...part, [name]: value } : withOption(part, name, value);
