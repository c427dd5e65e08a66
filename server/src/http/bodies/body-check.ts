import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { holdsMoreThan } from '../../kernel/json-scan.ts';

/** How bodies and parameters alike are checked. */
const CHECKS = {
  ...{ useDefaults: true, strict: false, removeAdditional: false },
  // The schemas are ours: a check of them would compile the schema of schemas, 30 ms of a start for each checker.
  ...{ meta: false, validateSchema: false },
} as const;
/** A body of up to so many values is told all its mistakes, which may be several a value; a larger one is told the first. */
const SMALL_BODY_VALUES = 2_000;

export interface SchemaCheck {
  (value: unknown): boolean;
  errors?: ErrorObject[] | null;
}

/** @returns a check that is compiled, which takes some milliseconds, when it is first asked: many routes never are in the life of a process */
function checkLater(compile: () => ValidateFunction): SchemaCheck {
  let compiled: ValidateFunction | undefined;
  const check: SchemaCheck = (value) => {
    compiled ??= compile();
    const passes = compiled(value);
    check.errors = compiled.errors ?? null;
    return passes;
  };
  return check;
}

/**
 * A larger integer is none that the stores can hold, or that a parser of JSON keeps as it was sent.
 * @returns the schema, in which every integer has bounds, as docs/openapi.json shows them
 */
function boundIntegers<Schema>(schema: Schema): Schema {
  if (typeof schema !== 'object' || schema === null) return schema;
  const numbers = schema as { type?: unknown; minimum?: number; maximum?: number };
  if ([numbers.type].flat().includes('integer')) {
    numbers.minimum ??= Number.MIN_SAFE_INTEGER;
    numbers.maximum ??= Number.MAX_SAFE_INTEGER;
  }
  for (const part of Object.values(schema)) boundIntegers(part);
  return schema;
}

/** Parameters of a URL are text, and are converted. */
export function createParameterChecks(): (schema: object) => SchemaCheck {
  const parameters = new Ajv({ ...CHECKS, allErrors: true, coerceTypes: true });
  return (sent) => {
    const schema = boundIntegers(sent);
    return checkLater(() => parameters.compile(schema));
  };
}

/** Of a body whose kind a field names, mistakes are told of that kind alone. */
export function createBodyChecks(): (schema: object) => SchemaCheck {
  const shared = { ...CHECKS, discriminator: true, verbose: true };
  const all = new Ajv({ ...shared, allErrors: true });
  const first = new Ajv(shared);
  return (sent) => {
    const schema = boundIntegers(sent);
    const listsAll = checkLater(() => all.compile(schema));
    const stopsAtFirst = checkLater(() => first.compile(schema));
    const check: SchemaCheck = (body) => {
      const chosen = holdsMoreThan(SMALL_BODY_VALUES, body) ? stopsAtFirst : listsAll;
      const passes = chosen(body);
      check.errors = chosen.errors ?? null;
      return passes;
    };
    return check;
  };
}
