import { type Attribute, readCatalogVersion, readOntology } from '../catalog/catalog.ts';
import type { CatalogFile, CatalogFiles, Operation } from '../storage/storage.ts';
import { type AnswerForm, describeItem } from './related-items.ts';
import type { WantedTag } from './related-request.ts';
import { type FoundGroups, type SearchedRelation, searchRelated } from './related-search.ts';
import {
  findDocument,
  findSource,
  hasMembers,
  listCandidates,
  listVariants,
} from './related-search-store.ts';
import type { Operator } from './relation.ts';
import { listServed } from './relation-store.ts';
import { compileRule } from './rule.ts';

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
  return {
    relate(input: RelateInput) {
      const file = files.open(input.projectId);
      return file.snapshot(() => {
        const version = readCatalogVersion(file);
        let relations = known.get(file);
        if (relations?.version !== version) {
          relations = new CatalogRelations(file, version);
          known.set(file, relations);
        }
        return relations.relate(input);
      });
    },
  };
}

interface AnsweringRelation extends SearchedRelation {
  /** The answer's members before `matchType`, and between it and `searchResult`. */
  readonly head: string;
  readonly localization: string;
}

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

  constructor(file: CatalogFile, version: number) {
    this.file = file;
    this.version = version;
    this.attributes = new Map(readOntology(file).attributes.map((attribute) => [attribute.id, attribute]));
    this.relations = new Map(
      listServed(file).map(({ id, build, bound, definition }) => [
        id,
        {
          build,
          twoWay: definition.twoWay,
          excludeSameGroup: definition.excludeSameGroup,
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
  private answer(identifier: string, { tags, form, brandAttribute }: RelateInput): string {
    const source = findSource(this.file, identifier);
    const parts = tags.flatMap(({ tag, relations }) => {
      const answered = relations.flatMap(({ id, limit }) => {
        const relation = this.relations.get(id);
        if (relation === undefined || !this.hasTargets(relation.build)) return [];
        const found = searchRelated(this.reader, relation, { source, limit });
        return [this.describeRelation(relation, found, { form, brandAttribute })];
      });
      return answered.length === 0
        ? []
        : [`{"tag":${JSON.stringify(tag)},"relations":[${answered.join(',')}]}`];
    });
    return `{"tags":[${parts.join(',')}]}`;
  }

  private readonly reader = {
    listCandidates: (wanted: Parameters<typeof listCandidates>[1]) => listCandidates(this.file, wanted),
    listVariants: (group: string) => listVariants(this.file, group),
  };

  private describeRelation(
    { head, localization }: AnsweringRelation,
    { matchType, groups }: FoundGroups,
    wanted: { form: AnswerForm; brandAttribute: string },
  ): string {
    let relevance = HIGHEST_RELEVANCE;
    const describe = (productId: number) => `${this.itemOf(productId, wanted)}${relevance--}}`;
    const results =
      wanted.form === 'bulk'
        ? groups.map((group) => `[${group.map(describe).join(',')}]`)
        : groups.flatMap((group) => group.slice(0, 1).map(describe));
    const names = wanted.form === 'bulk' ? localization : '';
    return `${head}"${matchType}",${names}"searchResult":[${results.join(',')}]}`;
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
