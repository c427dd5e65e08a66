/** Of a definition each of source, format and trigger: what else it has depends on its type, and forms ask for it by name. */
export type Typed = { readonly type: string } & Readonly<Record<string, unknown>>;

export const valueNamed = (part: Typed, name: string): unknown => part[name];

export const textOf = (part: Typed, name: string): string =>
  part[name] === undefined ? '' : String(part[name]);

/** @returns the part with another value, as typed: the service checks it; an empty one is left out, so that the service finds it out */
export function withOption<Part extends Typed>(part: Part, name: string, value: unknown): Part {
  const { [name]: _, ...others } = part;
  return (value === '' || value === undefined ? others : { ...others, [name]: value }) as Part;
}

/** The same, but an empty value is one: an option is left out only by undefined. */
export const withValue = <Part extends Typed>(part: Part, name: string, value: unknown): Part =>
  value === '' ? { ...part, [name]: value } : withOption(part, name, value);
