interface Schema {
  readonly [keyword: string]: unknown;
  readonly const?: unknown;
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

/** A value that is repeated may be as long as a body. */
const LONGEST = 1_000;

/** Each mistake with its place, for the details of a refusal; what the message of the validator leaves out is added. */
export function describeSchemaErrors(errors: readonly SchemaError[]): string[] {
  return errors.map((error) => describe(error).slice(0, LONGEST));
}

function describe(error: SchemaError): string {
  const { keyword, instancePath, message = '', params = {} } = error;
  const { additionalProperty, allowedValues, tag } = params;
  const listed = Array.isArray(allowedValues) ? allowedValues.join(', ') : undefined;
  const values = keyword === 'discriminator' ? listKinds(error) : listed;
  if (params.error === 'mapping') return `${instancePath}/${tag} must be one of: ${values}`;
  const more = additionalProperty ?? values;
  return `${instancePath} ${message}${more === undefined ? '' : `: ${more}`}`.trim();
}

/** The kinds of an object that one of its fields tells apart. */
const listKinds = ({ params = {}, parentSchema }: SchemaError) =>
  parentSchema?.oneOf?.map(({ properties }) => properties?.[String(params.tag)]?.const).join(', ');
