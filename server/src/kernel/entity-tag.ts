/**
 * Whether the tags of an `If-None-Match` name a state. A weak tag suffices, because equal content need not have equal
 * bytes. A proxy that compresses an answer weakens its tag. Source: RFC 9110 §13.1.2.
 * @param tag the state's tag, in quotes
 */
export const namesTag = (ifNoneMatch: string, tag: unknown): boolean =>
  ifNoneMatch.trim() === '*' ||
  ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === tag);
