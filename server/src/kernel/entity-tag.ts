/**
 * Whether the tags of an `If-None-Match` name a state. A weak tag will do: whether bytes or only what they say are the same
 * makes no difference, and a proxy that packs an answer weakens its tag. Source: RFC 9110 §13.1.2.
 * @param tag in quotes
 */
export const namesTag = (ifNoneMatch: string, tag: unknown): boolean =>
  ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((one) => one.trim().replace(/^W\//, '') === tag);
