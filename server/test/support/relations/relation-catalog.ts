import assert from 'node:assert/strict';
import { createCatalog, type TestCatalog } from '../shared-service.ts';
import type { Answer, TestService } from '../test-service.ts';
import type { Held } from '../test-store.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

/** A relation of an answer. `groups` contains identifiers, in the single form one group per entry. */
export interface Related {
  readonly id: number;
  readonly matchType: string;
  readonly groups: readonly (readonly string[])[];
}

/** A project with the calls of §4.8 and §12. */
export interface RelationCatalog extends TestCatalog {
  /** A call below `/management/projects/{id}/relations`. */
  manage(method: string, path?: string, body?: unknown): Promise<Answer<AnyBody>>;
  /** Creates a relation. `rule` supplies missing fields. @returns the relation once all work has ended */
  relate(definition: object): Promise<AnyBody>;
  /** @returns the relation in its present state */
  read(id: number): Promise<AnyBody>;
  /** Waits until only open full updates are left. */
  settled(): Promise<void>;
  /** Replaces the ontology. The following re-extraction may still be running. */
  putOntology(mode: 'automatic' | 'own', ...attributes: readonly object[]): Promise<AnyBody>;
  bulk(request: object): Promise<AnyBody>;
  single(request: object): Promise<AnyBody>;
  /** @returns the relation's answer for a product, or undefined if it is omitted */
  related(identifier: string, id: number): Promise<Related | undefined>;
  /** Makes a change and lets its tasks wait. Reads continue. */
  holdBack<Result>(change: () => Promise<Result>): Promise<Held<Result>>;
}

/** @returns a definition: tag `accessories`, every product with every other, unless `fields` say otherwise */
export const rule = (fields: object = {}) => ({
  name: 'Goes with',
  tag: 'accessories',
  source: { all: [] },
  target: { all: [] },
  ...fields,
});

export const under = (...category: string[]) => ({ category });

/** @returns a product in a category, with an attribute for each further field */
export const product = (
  identifier: string,
  category: string,
  { group, ...values }: { group?: string; [attribute: string]: string | readonly string[] | undefined } = {},
) => ({
  identifier,
  name: identifier,
  ...(group !== undefined && { groupIdentifier: group }),
  categories: [{ path: category.split('/') }],
  attributes: Object.entries(values).flatMap(([key, list]) =>
    [list ?? []].flat().map((value) => ({ key, value })),
  ),
});

export async function createRelationCatalog(
  service: TestService,
  settings?: object,
): Promise<RelationCatalog> {
  const catalog = await createCatalog(service, settings);
  const home = `/management/projects/${catalog.projectId}`;
  const manage: RelationCatalog['manage'] = (method, path = '', body = undefined) =>
    service.call(method, `${home}/relations${path}`, { body });

  async function succeed(answer: Answer<AnyBody>): Promise<AnyBody> {
    assert.ok(answer.status < 300, `${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  const ask = async (form: 'bulk-results' | 'result', request: object) =>
    succeed(await catalog.post(`/search/relations/${form}`, request));
  const read = async (id: number) => succeed(await manage('GET', `/${id}`));

  async function settled(): Promise<void> {
    const open = (await catalog.tasks()).filter(({ finishTime }) => finishTime === null);
    // Uploads wait for their commit.
    for (const { id, taskIncrementType } of open)
      if (taskIncrementType !== 'ITEM_BASED') await service.ended(id);
  }

  return {
    ...catalog,
    manage,
    read,
    settled,
    bulk: (request) => ask('bulk-results', request),
    single: (request) => ask('result', request),
    async relate(definition) {
      const { id } = await succeed(await manage('POST', '', rule(definition)));
      await settled();
      return read(id);
    },
    async putOntology(mode, ...attributes) {
      return succeed(await service.call('PUT', `${home}/ontology`, { body: { mode, attributes } }));
    },
    async related(identifier, id) {
      const answer = await ask('bulk-results', {
        identifiers: [identifier],
        includeRelations: [{ id, limit: 100 }],
      });
      return describeTags(answer[identifier]).find((relation) => relation.id === id);
    },
    holdBack: (change) => service.store.holdBack(catalog.projectId, change),
  };
}

export const BULK = '/search/relations/bulk-results';
export const SINGLE = '/search/relations/result';

/** @returns a query string, in which values other than texts are JSON */
export const encode = (parameters: Readonly<Record<string, unknown>>) =>
  Object.entries(parameters)
    .map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return `${name}=${encodeURIComponent(text)}`;
    })
    .join('&');

/** Requests of each form for one product, by GET and by POST. */
export const inEachWay = (catalog: TestCatalog, identifier: string, included: Record<string, unknown>) => [
  () => catalog.call('GET', `${BULK}?${encode({ identifiers: [identifier], ...included })}`),
  () => catalog.post(BULK, { identifiers: [identifier], ...included }),
  () => catalog.call('GET', `${SINGLE}?${encode({ identifier, ...included })}`),
  () => catalog.post(SINGLE, { identifier, ...included }),
];

/** @returns `{"tags":[…]}` of an answer of either form */
export function tagsOf({ status, body }: Answer<AnyBody>, identifier: string): AnyBody {
  assert.equal(status, 200, JSON.stringify(body));
  return 'tags' in body ? body : body[identifier];
}

/** @returns the relations of `{"tags":[…]}` under all tags */
export function describeTags({ tags }: AnyBody): Related[] {
  return tags.flatMap(({ relations }: AnyBody) =>
    relations.map(({ id, matchType, searchResult }: AnyBody) => ({
      id,
      matchType,
      groups: searchResult.map((group: AnyBody) => [group].flat().map(({ identifier }) => identifier)),
    })),
  );
}
