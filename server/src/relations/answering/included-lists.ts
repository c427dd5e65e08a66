import { ServiceError } from '../../kernel/errors.ts';

/** The lists of a request for related products. Source: docs/interface §4.8. */
const LISTS = ['includeRelations', 'includeTags'] as const;
type ListName = (typeof LISTS)[number];

/** `includeTags[0][tag]`: the form in which PHP writes the members of a list of arrays. */
const PHP_NAME = /^(includeRelations|includeTags)\[(\d{0,4})\]\[(\w{1,64})\]$/;
const INTEGER = /^-?\d{1,15}$/;

/**
 * Replaces parameters such as `includeTags[0][tag]=accessories` by the JSON list that they mean.
 * @throws query_invalid if the request has the list in both forms
 */
export function joinPhpLists(sentQuery: unknown): void {
  const query = sentQuery as Record<string, unknown>;
  const lists = new Map<string, Map<string, Record<string, unknown>>>();
  for (const [name, value] of Object.entries(query)) {
    const [, list, index = '', member] = PHP_NAME.exec(name) ?? [];
    if (list === undefined || member === undefined) continue;
    const entries = lists.getOrInsertComputed(list, () => new Map());
    entries.getOrInsertComputed(index, () => ({}))[member] = readMember(member, value);
  }
  for (const [list, entries] of lists) {
    if (query[list] !== undefined)
      throw new ServiceError(
        'query_invalid',
        `/${list} is sent as one value and also as ${list}[0][…]: send one of them`,
      );
    query[list] = JSON.stringify([...entries.values()]);
  }
}

/** Parameters are texts, so numbers are converted. A tag of digits remains a text. */
const readMember = (member: string, value: unknown) =>
  member !== 'tag' && typeof value === 'string' && INTEGER.test(value) ? Number(value) : value;

/** The members of an entry. Other names that look like one of them are probably mistakes. */
const MEMBERS: Readonly<Record<ListName, { id: string; limit: string; entry: string }>> = {
  includeRelations: { id: 'id', limit: 'limit', entry: 'a relation' },
  includeTags: { id: 'tag', limit: 'limitPerRelation', entry: 'a tag' },
};
const LIKE_LIMIT = /^(limit.*|max.*|count|size|top|n)$/i;
const LIKE_ID = /^(id|ids|tags?|tagname|name|relation|relation[-_]?id)$/i;

/**
 * Refuses entries with a mistaken member name. If `limit` in an entry of tags were ignored, the caller
 * would get 10 products without any warning.
 * @throws the refusal with this code, which names the right member
 */
export function refuseMixedUp(
  code: 'query_invalid' | 'request_invalid',
  sent: Readonly<Partial<Record<ListName, readonly object[] | null>>>,
): void {
  const details = LISTS.flatMap((list) =>
    (sent[list] ?? []).flatMap((entry, index) =>
      Object.keys(entry).flatMap((member) => describeMixedUp(list, member, `/${list}/${index}`)),
    ),
  );
  if (details.length > 0) throw new ServiceError(code, { details: details.slice(0, 20) });
}

function describeMixedUp(list: ListName, member: string, path: string): string[] {
  const { id, limit, entry } = MEMBERS[list];
  if (member === id || member === limit) return [];
  const meant = LIKE_LIMIT.test(member) ? limit : LIKE_ID.test(member) ? id : undefined;
  return meant === undefined ? [] : [`${path}/${member.slice(0, 64)} is unknown: ${entry} takes ${meant}`];
}
