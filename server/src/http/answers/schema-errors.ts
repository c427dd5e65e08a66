interface Schema {
  readonly [keyword: string]: unknown;
  readonly type?: unknown;
  readonly const?: unknown;
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
export function describeSchemaErrors(errors: readonly SchemaError[]): string[] {
  const forms = errors.find(isOfForms)?.parentSchema;
  if (forms === undefined) return errors.map(describe);
  const inside = errors.filter(({ instancePath }) => instancePath !== '');
  if (inside.length > 0) return inside.map(describe);
  return [`must be ${forms.anyOf?.map(({ type }) => type).join(' or ')}: ${forms.description}`];
}

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
  parentSchema?.oneOf?.map(({ properties }) => properties?.[String(params.tag)]?.const).join(', ');
