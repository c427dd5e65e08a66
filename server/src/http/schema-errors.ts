interface SchemaError {
  readonly keyword?: string;
  readonly instancePath: string;
  readonly message?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** A value that is repeated may be as long as a body. */
const LONGEST = 1_000;

/** Each mistake with its place, for the details of a refusal; what the message of the validator leaves out is added. */
export function describeSchemaErrors(errors: readonly SchemaError[]): string[] {
  return errors.map((error) => describe(error).slice(0, LONGEST));
}

function describe({ instancePath, message = '', params = {} }: SchemaError): string {
  const { additionalProperty, allowedValues } = params;
  const more = additionalProperty ?? (Array.isArray(allowedValues) ? allowedValues.join(', ') : undefined);
  return `${instancePath} ${message}${more === undefined ? '' : `: ${more}`}`.trim();
}
