/** Checks of a definition that a schema cannot express. Source: docs/interface §16.1. */
import {
  ComparisonProblem,
  checkFilter,
  compileFilter,
  type Filter,
  listConditions,
  toCompared,
} from '../../catalog/filters/filters.ts';
import { type Attribute, indexByKey } from '../../catalog/ontology/ontology.ts';
import { checkSchedule } from '../../definitions/definitions.ts';
import { getOutputFormat } from '../../formats/formats.ts';
import type { OutputFormat } from '../../formats/output/output.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { TextChecks } from '../../pipelines/mapping/expressions/expressions.ts';
import { NO_PATTERNS } from '../../pipelines/mapping/mapping.ts';
import type { Relation } from '../../relations/relation-definitions/relation-definitions.ts';
import { checkDestinations } from '../destinations/destinations.ts';
import {
  type ChannelMapping,
  type FieldSource,
  findIdentifying,
  listNames,
  OWN_FIELDS,
  readTemplate,
} from '../field-mapping/field-mapping.ts';
import type { ChannelDefinition, ChannelRelation, SentChannel, Trigger } from './channel-schemas.ts';

/** The maximum number of mistakes that a refusal lists. */
const SHOWN = 20;

export interface CheckedCatalog {
  readonly attributes: readonly Attribute[];
  readonly relations: readonly Relation[];
}

interface ChannelChecks extends CheckedCatalog {
  readonly now: number;
  readonly checkTexts: ReturnType<TextChecks>;
}

/**
 * Fills in defaults, but not masked secrets of destinations. @throws request_invalid with every mistake and its path
 */
export async function checkChannel(sent: SentChannel, checks: ChannelChecks): Promise<ChannelDefinition> {
  const definition = withDefaults(sent);
  const { mapping, relations } = definition;
  const format = getOutputFormat(sent.format.type);
  const problems = [
    ...checkFormat(sent.format, format),
    ...checkChannelFilter(sent.filter, checks),
    ...checkFields(mapping, format),
    ...(await checkMapping(mapping ?? {}, checks)),
    ...checkRelations(relations, checks),
    ...checkIdentity(mapping, relations, format),
    ...checkTrigger(sent.trigger, checks.now),
    ...checkServed(definition, format),
    ...checkChanges(definition, format),
    ...checkDestinations(definition.destinations),
  ];
  if (problems.length === 0) return definition;
  throw new ServiceError('request_invalid', { details: problems.slice(0, SHOWN) });
}

function withDefaults(sent: SentChannel): ChannelDefinition {
  const { name, format, filter = { all: [] }, relations = [], destinations = [] } = sent;
  const { maxDeletePercent = 30, maxLeftOutPercent = 100 } = sent;
  const mapping = sent.mapping as ChannelMapping | undefined;
  return {
    name,
    format,
    filter,
    ...(mapping !== undefined && { mapping }),
    relations: relations.map((relation) => ({ ...relation, limit: relation.limit ?? 10 }) as ChannelRelation),
    trigger: readTrigger(sent.trigger),
    destinations,
    ...(sent.changes && { changes: true }),
    maxDeletePercent,
    maxLeftOutPercent,
  };
}

function readTrigger({ type, ...rest }: NonNullable<SentChannel['trigger']> = { type: 'manual' }): Trigger {
  const { cron = '', timeZone = '', minSecondsBetween = 300 } = rest;
  if (type === 'change') return { type, minSecondsBetween };
  return type === 'schedule' ? { type, cron, timeZone } : { type: 'manual' };
}

/** A served channel has no builds. It answers too fast for expressions, which a separate process evaluates. */
function checkServed(
  { mapping = {}, trigger, destinations }: ChannelDefinition,
  { type, servedAs }: OutputFormat,
): string[] {
  if (servedAs === undefined) return [];
  const why = `${type} is served and not built`;
  return [
    ...(trigger.type === 'manual' ? [] : [`/trigger: ${why}`]),
    ...(destinations.length === 0 ? [] : [`/destinations: ${why}`]),
    ...Object.entries(mapping).flatMap(([field, source]) =>
      'expression' in source ? [`/mapping/${field}/expression: ${why}; use a template`] : [],
    ),
  ];
}

function checkChanges(
  { changes, mapping }: ChannelDefinition,
  { type, wholeBecause, identifiedBy }: OutputFormat,
): string[] {
  if (!changes) return [];
  if (wholeBecause !== undefined)
    return [`/changes: a file of ${type} always contains all products: ${wholeBecause}`];
  const isNamed = mapping === undefined || findIdentifying(mapping, identifiedBy) !== undefined;
  return isNamed ? [] : ['/changes: a field of the mapping must be {"field":"identifier"}'];
}

const TRIGGER_TAKES = { manual: [], schedule: ['cron', 'timeZone'], change: ['minSecondsBetween'] } as const;

function checkTrigger(sent: SentChannel['trigger'], now: number): string[] {
  if (sent === undefined) return [];
  const { type, ...rest } = sent;
  const takes: readonly string[] = TRIGGER_TAKES[type as Trigger['type']];
  const needs = type === 'schedule' ? takes : [];
  const foreign = Object.keys(rest).filter((name) => !takes.includes(name));
  const missing = needs.filter((name) => !Object.hasOwn(rest, name));
  const problems = [
    ...foreign.map((name) => `/trigger/${name}: is not an option of a ${type} trigger`),
    ...missing.map((name) => `/trigger/${name}: is needed for a ${type}`),
  ];
  const trigger = readTrigger(sent);
  return problems.length === 0 && trigger.type === 'schedule' ? checkSchedule(trigger, now) : problems;
}

function checkFormat({ variant }: SentChannel['format'], { type, variants }: OutputFormat): string[] {
  if (variant === undefined || Object.hasOwn(variants, variant)) return [];
  return [`/format/variant: of ${type} must be one of ${Object.keys(variants).join(', ')}`];
}

function checkChannelFilter(filter: Filter | undefined, { attributes }: CheckedCatalog): string[] {
  if (filter === undefined) return [];
  const errors = checkFilter('/filter', filter);
  if (errors.length > 0) return errors;
  const attributeByKey = indexByKey(attributes);
  const unknown = listConditions(filter).flatMap((condition) =>
    'attribute' in condition && !attributeByKey.has(condition.attribute) ? [condition.attribute] : [],
  );
  if (unknown.length > 0) return [...new Set(unknown)].map((name) => `/filter: ${describeUnknown(name)}`);
  try {
    compileChannelFilter(filter, attributes);
    return [];
  } catch (error) {
    if (error instanceof ComparisonProblem) return [`/filter: ${error.message}`];
    throw error;
  }
}

/** @throws ComparisonProblem for a comparison that is impossible with these attributes */
export function compileChannelFilter(filter: Filter, attributes: readonly Attribute[]) {
  const attributeByKey = indexByKey(attributes);
  return compileFilter(filter, (name) => {
    const attribute = attributeByKey.get(name);
    if (attribute === undefined) throw new ComparisonProblem(describeUnknown(name));
    return toCompared(attribute, [attribute.name, ...(attribute.synonyms ?? [])]);
  });
}

const describeUnknown = (name: string) => `the ontology has no attribute ${JSON.stringify(name)}`;

function checkFields(
  mapping: ChannelMapping | undefined,
  { type, fields, takesOthers, fieldNamed }: OutputFormat,
): string[] {
  if (mapping === undefined || fields === undefined || takesOthers) return [];
  const fieldNames = new Set(fields.map(({ name }) => name));
  return Object.keys(mapping)
    .filter((name) => !fieldNames.has(name) && fieldNamed?.(name) === undefined)
    .map((name) => `/mapping/${name}: ${type} has no such field`);
}

async function checkMapping(mapping: ChannelMapping, { attributes, checkTexts }: ChannelChecks) {
  const attributeByKey = indexByKey(attributes);
  const problems = Object.entries(mapping).flatMap(([field, source]) =>
    listProblems(source, attributeByKey).map((problem) => `/mapping/${field}/${problem}`),
  );
  const expressions = Object.values(mapping).flatMap((source) =>
    'expression' in source ? [source.expression] : [],
  );
  if (problems.length > 0 || expressions.length === 0) return problems;
  const wrong = (await checkTexts({ expressions: [...new Set(expressions)], patterns: NO_PATTERNS }))
    .expressions;
  return Object.entries(mapping).flatMap(([field, source]) => {
    const problem = 'expression' in source ? wrong.get(source.expression) : undefined;
    return problem === undefined ? [] : [`/mapping/${field}/expression: ${problem}`];
  });
}

function listProblems(source: FieldSource, attributeByKey: ReadonlyMap<string, Attribute>): string[] {
  if ('template' in source && readTemplate(source.template) === undefined)
    return ['template: has an unmatched brace; write {{ or }} for a literal brace'];
  const [kind = ''] = Object.keys(source);
  return [...listNames(source)]
    .filter(
      ({ name, mayBeOwn }) => !attributeByKey.has(name) && !(mayBeOwn && Object.hasOwn(OWN_FIELDS, name)),
    )
    .map(({ name }) => `${kind}: ${describeUnknown(name)}`);
}

function checkRelations(relations: readonly ChannelRelation[], catalog: CheckedCatalog): string[] {
  return relations.flatMap(({ tag, id }, index) => {
    if ((tag === undefined) === (id === undefined))
      return [`/relations/${index}: name either a tag or an id`];
    if (tag !== undefined && !catalog.relations.some(({ definition }) => definition.tag === tag))
      return [`/relations/${index}/tag: no relation has the tag ${JSON.stringify(tag)}`];
    if (id !== undefined && !catalog.relations.some((relation) => relation.id === id))
      return [`/relations/${index}/id: there is no relation ${id}`];
    return [];
  });
}

/** Related products are named by identifier. In a file without identifiers they would refer to nothing. */
function checkIdentity(
  mapping: ChannelMapping | undefined,
  relations: readonly ChannelRelation[],
  { identifiedBy, identity: field, type }: OutputFormat,
): string[] {
  if (relations.length === 0 || mapping === undefined || identifiedBy === undefined) return [];
  const identity = field ?? 'identifier';
  const source = mapping[identifiedBy];
  if (source === undefined || ('field' in source && source.field === identity)) return [];
  return [
    `/mapping/${identifiedBy}: must be {"field":"${identity}"} in a channel with relations, because ${type} names related products by it`,
  ];
}
