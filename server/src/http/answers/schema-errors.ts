interface Schema {
  readonly [keyword: string]: unknown;
  readonly type?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface SchemaError {
  readonly keyword?: string;
  readonly instancePath: string;
  readonly message?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** What was broken, as the validator of bodies tells. */
  readonly parentSchema?: Schema;
}

/** Each mistake with its place, for the details of a refusal; what the message of the validator leaves out is added. */
export function describeSchemaErrors(told: readonly SchemaError[]): string[] {
  const errors = joinChoices(told);
  const forms = errors.find(isOfForms)?.parentSchema;
  if (forms === undefined) return errors.map(describe);
  const inside = errors.filter(({ instancePath }) => instancePath !== '');
  if (inside.length > 0) return inside.map(describe);
  return [`must be ${forms.anyOf?.map(({ type }) => type).join(' or ')}: ${forms.description}`];
}

/** Every value of a choice tells that it is another one, and the choice that none fits: one mistake, with all values. */
function joinChoices(errors: readonly SchemaError[]): SchemaError[] {
  const values = new Map<string, unknown[]>();
  for (const { keyword, instancePath, params } of errors) {
    if (keyword !== 'const') continue;
    values.set(instancePath, [...(values.get(instancePath) ?? []), params?.allowedValue]);
  }
  const told = new Set<string>();
  return errors.flatMap((error) => {
    const allowedValues = values.get(error.instancePath);
    if (allowedValues === undefined || !OF_CHOICES.has(error.keyword)) return [error];
    if (told.has(error.instancePath)) return [];
    told.add(error.instancePath);
    const message = 'must be equal to one of the allowed values';
    return [{ instancePath: error.instancePath, keyword: 'enum', message, params: { allowedValues } }];
  });
}

const OF_CHOICES: ReadonlySet<string | undefined> = new Set(['const', 'type', 'anyOf']);

/** Of a body in none of its forms: each form has told its mistakes, also those that the caller does not mean. */
const isOfForms = ({ keyword, instancePath, parentSchema }: SchemaError) =>
  keyword === 'anyOf' && instancePath === '' && parentSchema?.description !== undefined;

function describe(error: SchemaError): string {
  const { keyword, instancePath, message = '', params = {} } = error;
  const { additionalProperty, allowedValues, tag } = params;
  const listed = Array.isArray(allowedValues) ? allowedValues.join(', ') : undefined;
  const values = keyword === 'discriminator' ? listKinds(error) : listed;
  if (params.error === 'mapping') return `${instancePath}/${tag} must be one of: ${values}`;
  const more = additionalProperty ?? values;
  return `${instancePath} ${message}${more === undefined ? '' : `: ${more}`}`;
}

/** The kinds of an object that one of its fields tells apart. */
const listKinds = ({ params = {}, parentSchema }: SchemaError) =>
  parentSchema?.oneOf
    ?.map(({ properties }) => properties?.[String(params.tag)])
    .flatMap((kind) => kind?.enum ?? [kind?.const])
    .join(', ');
