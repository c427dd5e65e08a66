import {
  type Attribute,
  readCatalogVersion,
  readOntology,
  type UploadedProduct,
} from '../catalog/catalog.ts';
import type { CatalogFile, CatalogFiles, Operation } from '../storage/storage.ts';
import { type AnswerForm, describeItem } from './related-items.ts';
import type { WantedTag } from './related-request.ts';
import {
  type FoundGroups,
  type SearchedRelation,
  type SearchReader,
  searchRelated,
} from './related-search.ts';
import {
  createSearchReader,
  findDocument,
  findIdentifier,
  findSource,
  hasMembers,
} from './related-search-store.ts';
import { type Operator, type RelationDefinition, ruleOf } from './relation.ts';
import { explainPair, type PairExplanation } from './relation-explain.ts';
import { type ExplainInput, explainRelation, readUpload } from './relation-questions.ts';
import { findBuilt, listServed } from './relation-store.ts';
import { surveyRelation, tryRule } from './relation-survey.ts';
import { type BoundRule, bindRule, compileRule } from './rule.ts';

/** What the threads that answer relations do: one job is one state of the catalog. */

export interface RelateInput {
  readonly projectId: number;
  readonly identifiers: readonly string[];
  readonly tags: readonly WantedTag[];
  readonly form: AnswerForm;
  readonly explain: boolean;
  readonly brandAttribute: string;
}

export interface RelateOutput {
  /** Of the catalog. */
  readonly version: number;
  /** `{"tags":[…]}` for each identifier, one behind another. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly ends: Uint32Array<ArrayBuffer>;
}

export function relationReaderOperations(files: CatalogFiles): Record<string, Operation> {
  const known = new WeakMap<CatalogFile, CatalogRelations>();
  /** On one snapshot: what is read belongs together. */
  const read =
    <Input extends { projectId: number }, Output>(work: (file: CatalogFile, input: Input) => Output) =>
    (input: Input) => {
      const file = files.open(input.projectId);
      return file.snapshot(() => work(file, input));
    };
  return {
    relate: read((file, input: RelateInput) => {
      const version = readCatalogVersion(file);
      let relations = known.get(file);
      if (relations?.version !== version) {
        relations = new CatalogRelations(file, version);
        known.set(file, relations);
      }
      return relations.relate(input);
    }),
    tryRelation: read((file, { definition }: { projectId: number; definition: RelationDefinition }) => {
      const result = bindRule(ruleOf(definition), readOntology(file).attributes);
      return { output: 'problem' in result ? result : tryRule(file, definition, result.bound) };
    }),
    surveyRelation: read((file, { id }: { projectId: number; id: number }) => {
      const relation = findBuilt(file, id);
      return { output: relation && surveyRelation(file, relation) };
    }),
    explainRelation: read((file, input: ExplainInput) => ({ output: explainRelation(file, input) })),
  };
}

interface AnsweringRelation extends SearchedRelation {
  readonly bound: BoundRule;
  /** The answer's members before `matchType`, and between it and `searchResult`. */
  readonly head: string;
  readonly localization: string;
}

type Explain = (productId: number) => PairExplanation;

/** Items of products that many others lead to. */
const KEPT_ITEMS = 20_000;
const HIGHEST_RELEVANCE = 1_000_000;

/** The relations of one version of a catalog. */
class CatalogRelations {
  readonly version: number;
  private readonly file: CatalogFile;
  private readonly relations: ReadonlyMap<number, AnsweringRelation>;
  private readonly attributes: ReadonlyMap<number, Attribute>;
  private readonly targets = new Map<number, boolean>();
  private readonly items = new Map<string, string>();
  private readonly reader: SearchReader;

  constructor(file: CatalogFile, version: number) {
    this.file = file;
    this.version = version;
    this.reader = createSearchReader(file);
    this.attributes = new Map(readOntology(file).attributes.map((attribute) => [attribute.id, attribute]));
    this.relations = new Map(
      listServed(file).map(({ id, build, bound, definition, twoWay, excludeSameGroup }) => [
        id,
        {
          build,
          bound,
          twoWay,
          excludeSameGroup,
          operators: compileRule(bound).comparisons.map(({ operator }): Operator => operator),
          head: `{"name":${JSON.stringify(definition.name)},"id":${id},"matchType":`,
          localization: `"localization":${JSON.stringify({ names: definition.names })},`,
        },
      ]),
    );
  }

  relate(input: RelateInput) {
    const answers = input.identifiers.map((identifier) => Buffer.from(this.answer(identifier, input)));
    const bytes = Buffer.from(new ArrayBuffer(answers.reduce((sum, { length }) => sum + length, 0)));
    let end = 0;
    const ends = Uint32Array.from(answers, (answer) => {
      end += answer.copy(bytes, end);
      return end;
    });
    const output: RelateOutput = { version: this.version, bytes: new Uint8Array(bytes.buffer), ends };
    return { output, transfer: [bytes.buffer, ends.buffer] };
  }

  /** A relation is left out when its target side holds nothing (§4.8 rule 5); so is a tag without relations. */
  private answer(identifier: string, { tags, form, brandAttribute, explain }: RelateInput): string {
    const source = findSource(this.file, identifier);
    const parts = tags.flatMap(({ tag, relations }) => {
      const answered = relations.flatMap(({ id, limit }) => {
        const relation = this.relations.get(id);
        if (relation === undefined || !this.hasTargets(relation.build)) return [];
        const found = searchRelated(this.reader, relation, { source, limit });
        const explained = explain
          ? (productId: number) => this.explainItem(relation, { identifier, productId }, found)
          : undefined;
        return [this.describeRelation(relation, found, { form, brandAttribute, explained })];
      });
      return answered.length === 0
        ? []
        : [`{"tag":${JSON.stringify(tag)},"relations":[${answered.join(',')}]}`];
    });
    return `{"tags":[${parts.join(',')}]}`;
  }

  private describeRelation(
    { head, localization }: AnsweringRelation,
    { matchType, groups }: FoundGroups,
    wanted: { form: AnswerForm; brandAttribute: string; explained: Explain | undefined },
  ): string {
    let relevance = HIGHEST_RELEVANCE;
    const describe = (productId: number) => {
      const explained = wanted.explained && `,"explain":${JSON.stringify(wanted.explained(productId))}`;
      return `${this.itemOf(productId, wanted)}${relevance--}${explained ?? ''}}`;
    };
    const results =
      wanted.form === 'bulk'
        ? groups.map((group) => `[${group.map(describe).join(',')}]`)
        : groups.flatMap((group) => group.slice(0, 1).map(describe));
    const names = wanted.form === 'bulk' ? localization : '';
    return `${head}"${matchType}",${names}"searchResult":[${results.join(',')}]}`;
  }

  /** Of a related product: which conditions held, on both of them, by which values (§12.6 rule 1). */
  private explainItem(
    { bound }: AnsweringRelation,
    { identifier, productId }: { identifier: string; productId: number },
    { matchType }: FoundGroups,
  ): PairExplanation {
    const [asked, found] = [identifier, findIdentifier(this.file, productId)].map((one) =>
      readUpload(this.file, one),
    ) as [UploadedProduct, UploadedProduct];
    const isForward = matchType === 'FIRST_WAY';
    return explainPair(bound, { source: isForward ? asked : found, target: isForward ? found : asked });
  }

  private hasTargets(build: number): boolean {
    const known = this.targets.get(build) ?? hasMembers(this.file, build, 'target');
    this.targets.set(build, known);
    return known;
  }

  private itemOf(
    productId: number,
    { form, brandAttribute }: { form: AnswerForm; brandAttribute: string },
  ): string {
    const key = `${form} ${productId} ${brandAttribute}`;
    const known = this.items.get(key);
    if (known !== undefined) return known;
    const served = findDocument(this.file, productId);
    if (served === undefined)
      throw new Error(`the product ${productId} is in the join index and not in the catalog`);
    const item = describeItem(productId, served, { form, brandAttribute, attributes: this.attributes });
    if (this.items.size >= KEPT_ITEMS) this.items.clear();
    this.items.set(key, item);
    return item;
  }
}
