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
            for (let at = 0; at < names.length; at += 1) {
              const values = row.values[at] as readonly string[];
              if (values.length === 0) continue;
              parts.push(names[at] + JSON.stringify(values.length === 1 ? values[0] : values));
            }
            for (const kind of as) parts.push(`"${kind}":${JSON.stringify(relatedBy(row, kind))}`);
            return `{${parts.join(',')}}\n`;
          },
          remove({ values }) {
            const at = columns.findIndex(({ name }) => name === identifiedBy);
            return `{${names[at]}${JSON.stringify(values[at]?.[0])},"${REMOVED}":true}\n`;
          },
        };
      },
    },
  },
};
