import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { holdsMoreThan } from '../../kernel/json-scan.ts';

/** How bodies and parameters alike are checked. */
export const CHECKS = {
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
export function checkLater(compile: () => ValidateFunction): SchemaCheck {
  let compiled: ValidateFunction | undefined;
  const check: SchemaCheck = (value) => {
    compiled ??= compile();
    const passes = compiled(value);
    check.errors = compiled.errors ?? null;
    return passes;
  };
  return check;
}

/** Of a body whose kind a field names, mistakes are told of that kind alone. */
export function createBodyChecks(): (schema: object) => SchemaCheck {
  const shared = { ...CHECKS, discriminator: true, verbose: true };
  const all = new Ajv({ ...shared, allErrors: true });
  const first = new Ajv(shared);
  return (schema) => {
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
