import { type OutputFormat, PLAIN_FORMAT, REMOVED, relatedBy } from '../output/output.ts';

export const ndjson: OutputFormat = {
  ...PLAIN_FORMAT,
  type: 'ndjson',
  label: 'NDJSON',
  description: 'a JSON object per line; several values of a field become a list',
  defaultVariant: 'ndjson',
  variants: {
    ndjson: {
      ending: 'ndjson',
      mediaType: 'application/x-ndjson; charset=utf-8',
      open({ columns, as, identifiedBy }) {
        const names = columns.map(({ name }) => `${JSON.stringify(name)}:`);
        return {
          head: '',
          tail: '',
          write(row) {
            const parts: string[] = [];
            for (let index = 0; index < names.length; index += 1) {
              const values = row.values[index] as readonly string[];
              if (values.length === 0) continue;
              parts.push(names[index] + JSON.stringify(values.length === 1 ? values[0] : values));
            }
            for (const kind of as) parts.push(`"${kind}":${JSON.stringify(relatedBy(row, kind))}`);
            return `{${parts.join(',')}}\n`;
          },
          remove({ values }) {
            const index = columns.findIndex(({ name }) => name === identifiedBy);
            return `{${names[index]}${JSON.stringify(values[index]?.[0])},"${REMOVED}":true}\n`;
          },
        };
      },
    },
  },
};
