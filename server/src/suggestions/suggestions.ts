/**
 * The door of suggestions: drafts of relations, types of attributes and duplicates, as the data alone shows
 * them. A person accepts or dismisses them, and none is ever applied by itself. The rules are pure. The
 * scanning thread applies them to a sample of the catalog, once for each of its states.
 */

import type { OpenTally, SurveyResult } from '../catalog/browse/browse.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Ontology } from '../catalog/ontology/ontology.ts';
import { BoundedMap } from '../kernel/bounded-map.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Projects } from '../projects/projects.ts';
import {
  type Match,
  matchesOf,
  type Relation,
} from '../relations/relation-definitions/relation-definitions.ts';
import type { Relations } from '../relations/relations.ts';
import type { Base, ControlTransaction } from '../storage/storage.ts';
import { listSampled, suggestAttributes, suggestDuplicates } from './attribute-suggestions.ts';
import { CatalogSample } from './catalog-sample.ts';
import { type Dismissal, insertDismissal, listDismissed, removeDismissal } from './dismissal-store.ts';
import { suggestRelations } from './relation-suggestions.ts';
import type { RelationSuggestion, Suggestion } from './suggestion-schemas.ts';

interface SuggestionParts extends Pick<Base, 'clock' | 'database'> {
  readonly catalog: Pick<Catalog, 'survey' | 'store'>;
  readonly relations: Pick<Relations, 'list' | 'readVersion'>;
  readonly projects: Pick<Projects, 'getLocale' | 'removeWithProject'>;
}

interface FoundSuggestions extends Omit<SurveyResult, 'counted'>, SuggestedCount {
  readonly catalogVersion: number;
}

export type Suggestions = ReturnType<typeof createSuggestions>;

/** Runs in the transaction of the change. */
type RecordChange = (tx: ControlTransaction, suggestion: Suggestion | undefined) => Promise<void>;

/** For how many projects suggestions are cached. Each project takes some 50 KB. */
const FINDINGS = 100;

export function createSuggestions(parts: SuggestionParts) {
  const { relations, database, clock } = parts;
  const find = createFinder(parts);
  parts.projects.removeWithProject('dismissed_suggestion');

  return {
    /** @returns by kind, with the best first, the suggestions that no relation covers */
    async list(projectId: number) {
      const { suggestions, ...counts } = await find(projectId);
      const [dismissed, present] = await Promise.all([
        listDismissed(database.read, projectId),
        relations.list(projectId),
      ]);
      const items = suggestions
        .filter((suggestion) => suggestion.kind !== 'relation' || !isThere(suggestion, present))
        .map((suggestion) => ({ ...suggestion, dismissed: dismissed.has(suggestion.id) }));
      return { ...counts, items };
    },

    /** Dismissing a suggestion again changes nothing. @throws not_found for an unknown suggestion */
    async dismiss(dismissal: Dismissal, record: RecordChange): Promise<void> {
      const { suggestions } = await find(dismissal.projectId);
      const suggestion = suggestions.find(({ id }) => id === dismissal.suggestionId);
      if (suggestion === undefined) throw new ServiceError('not_found');
      await database.write('all', async (tx) => {
        const isNew = await insertDismissal(tx, { ...dismissal, dismissedAt: clock.now() });
        await record(tx, isNew ? suggestion : undefined);
      });
    },

    /** @throws not_found for a suggestion that is not dismissed */
    async restore(dismissal: Dismissal, record: (tx: ControlTransaction) => Promise<void>): Promise<void> {
      await database.write('all', async (tx) => {
        if (!(await removeDismissal(tx, dismissal))) throw new ServiceError('not_found');
        await record(tx);
      });
    },
  };
}

/**
 * Counts each state of a project once, and one state at a time. The result is cached until the state changes.
 */
function createFinder({ catalog, relations, projects }: SuggestionParts) {
  /** By project. `mark` identifies the state of the catalog and of the ontology. */
  const findings = new BoundedMap<
    number,
    { readonly mark: string; readonly counting: Promise<FoundSuggestions> }
  >({ most: FINDINGS });

  async function count(projectId: number, catalogVersion: number): Promise<FoundSuggestions> {
    const question = { kind: 'suggestions', locale: await projects.getLocale(projectId) } as const;
    // The count continues when the caller disconnects, so that the next caller gets the result.
    const { signal } = new AbortController();
    for await (const { result } of catalog.survey({ projectId, question, isWhole: false }, signal)) {
      if (result === undefined) continue;
      const { counted, ...looked } = result;
      return { catalogVersion, ...looked, ...(counted as SuggestedCount) };
    }
    throw new Error('the survey ended without a result');
  }

  return async function find(projectId: number): Promise<FoundSuggestions> {
    const catalogVersion = await relations.readVersion(projectId);
    const { revision } = await catalog.store.getOntology(projectId);
    const mark = `${catalogVersion} ${revision}`;
    const last = findings.get(projectId);
    if (last?.mark === mark) return last.counting;
    const counting = (last?.counting ?? Promise.resolve())
      // The previous count was for another state. Its caller gets its failure; this call only waits for it.
      .catch(() => undefined)
      .then(() => count(projectId, catalogVersion));
    const finding = { mark, counting };
    findings.set(projectId, finding);
    // The caller gets the rejection of `counting`. Here a failed count is only dropped, so that the next
    // question counts again.
    counting.catch(() => findings.peek(projectId) === finding && findings.delete(projectId));
    return counting;
  };
}

/**
 * Finds out whether a relation already covers a suggestion. The draft may have been changed before it was
 * accepted.
 */

type Filter = Relation['definition']['source'];

/** @returns whether a relation compares the same attributes of the same categories */
function isThere({ draft }: RelationSuggestion, relations: readonly Relation[]): boolean {
  const sides = [
    [draft.source, draft.target],
    [draft.target, draft.source],
  ] as const;
  return relations.some(({ definition: { source, target, match } }) =>
    sides.some(([from, to], index) => {
      const isCompared = match.flatMap(matchesOf).some((compared) => {
        const [ofTarget, ofSource] =
          index === 0 ? [compared.target, compared.source] : [compared.source, compared.target];
        return draft.match.some(
          (drafted) =>
            nameOf(drafted.target) === nameOf(ofTarget) && nameOf(drafted.source) === nameOf(ofSource),
        );
      });
      return isCompared && overlap(source, from) && overlap(target, to);
    }),
  );
}

function nameOf(value: Match['target']): string {
  if (typeof value === 'string') return value;
  return 'attribute' in value ? value.attribute : JSON.stringify(value);
}

/** A filter without categories may include products of any category. */
function overlap(filter: Filter, drafted: Filter): boolean {
  const [paths, own] = [listPaths(filter), listPaths(drafted)];
  return paths.length === 0 || paths.some((path) => own.some((ownPath) => beginAlike(path, ownPath)));
}

const beginAlike = (a: readonly string[], b: readonly string[]) =>
  a.slice(0, b.length).every((name, level) => name === b[level]);

function listPaths(filter: Filter): (readonly string[])[] {
  if ('category' in filter) return [filter.category];
  if ('all' in filter) return filter.all.flatMap(listPaths);
  if ('any' in filter) return filter.any.flatMap(listPaths);
  return [];
}

/** The result of the scanning thread for suggestions. */
interface SuggestedCount {
  readonly suggestions: readonly Suggestion[];
}

/** Runs in the scanning thread, like the coverage of the ontology. */
export const openSuggestionTally: OpenTally = (ontology, { locale }) => {
  const sample = new CatalogSample();
  return {
    add: (product) => sample.add(product),
    describe: (): SuggestedCount => ({ suggestions: suggestAll(sample, ontology, locale) }),
  };
};

/** @returns suggestions by kind, with the best first */
export function suggestAll(sample: CatalogSample, ontology: Ontology, locale: string): Suggestion[] {
  const attributes = listSampled(sample, ontology);
  const duplicates = suggestDuplicates(attributes, sample);
  const dropped = new Set(duplicates.map(({ evidence }) => evidence.dropped.name));
  const single = attributes.filter(({ name }) => !dropped.has(name));
  return [
    ...suggestRelations(sample, ontology),
    ...suggestAttributes(single, ontology, { locale }),
    ...duplicates,
  ];
}
