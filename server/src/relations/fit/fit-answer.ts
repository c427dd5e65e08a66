import { createHash } from 'node:crypto';
import type { ComparedAttribute } from '../../catalog/filters/filters.ts';
import type { Attribute } from '../../catalog/ontology/ontology.ts';
import { mainCategory, type UploadedProduct } from '../../catalog/products/products.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import { type ColumnCache, listWords, UPLOADS_AT_ONCE } from '../surveys/surveys.ts';
import { findPrice, listAlternatives, type OrderedProduct } from './alternatives.ts';
import type { ConstraintCache, FitCatalog } from './constraint-cache.ts';
import type { FitSelection } from './fit-schemas.ts';
import {
  type Constraint,
  judgeUpload,
  type MayBeNegative,
  SetJudge,
  type SetProduct,
  type TotalVerdict,
  type Verdict,
} from './judgement.ts';
import type { NegativeValues } from './negative-values.ts';

/** A question with the settings of its project. */
export interface FitInput extends FitSelection {
  /** The locale of the sentences. */
  readonly locale: string;
  readonly brandAttribute: string;
  readonly priceAttribute: string;
}

/** The caches of a thread, and the time limit of a question. */
export interface FitParts {
  readonly constraints: ConstraintCache;
  readonly negatives: NegativeValues;
  readonly columns: ColumnCache;
  readonly limit: Budget;
}

/** The time limit of a search for alternatives: ten times its duration on 66,778 products in memory. */
const ALTERNATIVES_MS = 2_000;

/** The most pairs in one answer; each pair takes about 600 bytes. */
const MOST_PAIRS = 20_000;

/** @throws request_invalid */
function refuseMany(pairs: number): void {
  if (pairs > MOST_PAIRS)
    throw new ServiceError(
      'request_invalid',
      `${pairs} pairs would be judged, but at most ${MOST_PAIRS} are possible: send fewer items, or name fewer tags or relations`,
    );
}

const listKeysOf = (read: readonly ComparedAttribute[]): ReadonlySet<string> =>
  new Set(read.flatMap(({ keys }) => keys));

/** @returns the existing products of a question, with only the values under these keys */
async function readItems(
  { findUploads }: FitCatalog,
  identifiers: readonly string[],
  keys: ReadonlySet<string>,
): Promise<{ readonly product: UploadedProduct; readonly updatedAt: number }[]> {
  const present = [];
  for (let start = 0; start < identifiers.length; start += UPLOADS_AT_ONCE)
    for (const { raw, updatedAt } of await findUploads(identifiers.slice(start, start + UPLOADS_AT_ONCE))) {
      const { attributes, ...product } = JSON.parse(raw) as UploadedProduct;
      present.push({
        product: { ...product, attributes: attributes.filter(({ key }) => keys.has(key)) },
        updatedAt,
      });
    }
  return present;
}

/**
 * @returns the answer as JSON
 * @throws request_invalid for too many pairs, answer_too_large, search_too_long
 */
export async function answerFit(catalog: FitCatalog, input: FitInput, parts: FitParts): Promise<string> {
  const { version, attributes, constraints: all } = await parts.constraints.read(input.projectId, catalog);
  const constraints = chooseConstraints(all, input);
  const judge = new SetJudge(constraints, parts.limit);
  const { set, unknown, lastUpdateAt } = await readSet(catalog, input, { judge, attributes });
  refuseMany(judge.countPairs(set));
  const pairs = judge.judgePairs(set, input.locale);
  const signs = new Signs((attribute) =>
    parts.negatives.has(input.projectId, catalog, { attribute, limit: parts.limit }),
  );
  const totals = judge.judgeTotals(set, await signs.of(judge.listSigned(set)));
  const judgedPairs = [...pairs, ...totals.flatMap(listPairsOf)];
  const judged = {
    status: 'success',
    verdict: joinVerdicts(
      [...pairs, ...totals].map(({ verdict }) => verdict),
      unknown.length > 0,
    ),
    pairs,
    totals,
    withoutRule: listUnjudged(set, judgedPairs),
    unknownIdentifiers: unknown,
    alternatives: await findAlternatives(
      { catalog, input, parts, attributes },
      { judge, set, signs, unfit: listUnfit(judgedPairs) },
    ),
    lastUpdateTs: lastUpdateAt,
  };
  const receipt = {
    version,
    relations: constraints.map(({ relation: { id }, revision }) => ({ id, revision })),
  };
  return JSON.stringify({ ...judged, receipt: { ...receipt, hash: hashOf({ ...judged, receipt }) } });
}

/** @returns the constraints that a question names by id or by tag; all constraints if it names none */
const chooseConstraints = (
  all: readonly Constraint[],
  { tags, relations }: Pick<FitInput, 'tags' | 'relations'>,
): readonly Constraint[] =>
  tags.length + relations.length === 0
    ? all
    : all.filter(({ relation }) => tags.includes(relation.tag) || relations.includes(relation.id));

/** @returns the existing products of a question in its order, and the identifiers of the missing products */
async function readSet(
  catalog: FitCatalog,
  { items, priceAttribute }: FitInput,
  { judge, attributes }: { readonly judge: SetJudge; readonly attributes: readonly Attribute[] },
) {
  const identifiers = items.map(({ identifier }) => identifier);
  const keys = listKeysOf([...judge.attributes, findPrice(attributes, priceAttribute) ?? []].flat());
  const present = await readItems(catalog, identifiers, keys);
  const uploads = new Map(present.map(({ product }) => [product.identifier, product]));
  const set = items.flatMap(({ identifier, quantity }): OrderedProduct[] => {
    const upload = uploads.get(identifier);
    return upload === undefined ? [] : [{ upload, product: judgeUpload(upload), quantity }];
  });
  return {
    set,
    unknown: identifiers.filter((identifier) => !uploads.has(identifier)),
    lastUpdateAt: present.length === 0 ? null : Math.max(...present.map(({ updatedAt }) => updatedAt)),
  };
}

/** A question that is being answered. */
interface OpenQuestion {
  readonly catalog: FitCatalog;
  readonly input: FitInput;
  readonly parts: FitParts;
  readonly attributes: readonly Attribute[];
}

interface JudgedSet {
  readonly judge: SetJudge;
  readonly set: readonly OrderedProduct[];
  readonly signs: Signs;
  /** The identifiers of products that do not fit. */
  readonly unfit: ReadonlySet<string>;
}

async function findAlternatives(
  { catalog, input, parts: { columns, limit }, attributes }: OpenQuestion,
  { judge, set, signs, unfit }: JudgedSet,
) {
  if (input.alternatives === 0 || unfit.size === 0) return [];
  const words = listCategoryWords(set, unfit);
  return listAlternatives(
    {
      attributes,
      brandAttribute: input.brandAttribute,
      priceAttribute: input.priceAttribute,
      columns: await columns.read(input.projectId, catalog, { limit, words }),
      findUploads: catalog.findUploads,
    },
    {
      judge,
      set,
      unfit,
      mayBeNegative: await signs.of(judge.summed),
      most: input.alternatives,
      limit: limit.within(ALTERNATIVES_MS),
    },
  );
}

/** A verdict on two products. */
interface JudgedPair {
  readonly source: string;
  readonly target: string;
  readonly verdict: Verdict;
}

const listUnfit = (pairs: readonly JudgedPair[]): ReadonlySet<string> =>
  new Set(
    pairs
      .filter(({ verdict }) => verdict === 'does_not_fit')
      .flatMap(({ source, target }) => [source, target]),
  );

/** Which attributes may have negative values. Each attribute is looked up only once. */
class Signs {
  private readonly signs = new Map<ComparedAttribute, boolean>();
  private readonly find: (attribute: ComparedAttribute) => Promise<boolean>;

  constructor(find: (attribute: ComparedAttribute) => Promise<boolean>) {
    this.find = find;
  }

  /**
   * @returns whether an attribute may be negative. Only these attributes are looked up; all others are
   * assumed to have negative values.
   */
  async of(attributes: readonly ComparedAttribute[]): Promise<MayBeNegative> {
    for (const comparedAttribute of attributes)
      if (!this.signs.has(comparedAttribute))
        this.signs.set(comparedAttribute, await this.find(comparedAttribute));
    return (attribute) => this.signs.get(attribute) ?? true;
  }
}

/** The words of the categories whose products are scanned. */
const listCategoryWords = (set: readonly OrderedProduct[], unfit: ReadonlySet<string>) =>
  listWords(
    ...set.flatMap(({ product: { identifier }, upload: { categories } }) => {
      const main = unfit.has(identifier) && mainCategory(categories);
      return main ? [{ category: main.path }] : [];
    }),
  );

/** @returns a pair for each part of the total, because a total judges its source with every part */
const listPairsOf = ({ source, verdict, total }: TotalVerdict) =>
  total.parts.map(({ identifier: target }) => ({ source, target, verdict }));

function joinVerdicts(verdicts: readonly Verdict[], isAnyUnknown: boolean): Verdict {
  if (verdicts.includes('does_not_fit')) return 'does_not_fit';
  if (isAnyUnknown || verdicts.includes('unknown')) return 'unknown';
  return verdicts.length > 0 ? 'fits' : 'no_rule';
}

/** @returns pairs of identifiers, in the order of the set, that no constraint judges */
function listUnjudged(set: readonly SetProduct[], pairs: readonly { source: string; target: string }[]) {
  const judged = new Set(
    pairs.flatMap(({ source, target }) => [nameOf(source, target), nameOf(target, source)]),
  );
  const identifiers = set.map(({ product }) => product.identifier);
  return identifiers.flatMap((first, index) =>
    identifiers
      .slice(index + 1)
      .flatMap((other): [string, string][] => (judged.has(nameOf(first, other)) ? [] : [[first, other]])),
  );
}

const nameOf = (first: string, second: string) => JSON.stringify([first, second]);

/**
 * @returns the SHA-256 of the answer's JSON without the hash, with members sorted by name and no white space.
 * Readers of the answer can compute it too.
 */
export const hashOf = (answer: object): string =>
  createHash('sha256').update(JSON.stringify(answer, sortMembers)).digest('hex');

const sortMembers = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
