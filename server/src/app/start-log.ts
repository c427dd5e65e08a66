import { hostname } from 'node:os';

const LEVELS = { info: 30, warn: 40 } as const;
/** The values of RELATA_LOG_LEVEL at which each level is written. */
const SHOWN: Readonly<Record<keyof typeof LEVELS, RegExp>> = {
  info: /^(?:info|debug|trace)$/,
  warn: /^(?:warn|info|debug|trace)$/,
};

/** Writes log lines in the form of the server's logger before the server exists. */
export function createStartLog({
  logLevel,
  logTo = process.stdout,
}: {
  readonly logLevel: string;
  readonly logTo?: { write(line: string): void } | undefined;
}) {
  const write = (level: keyof typeof LEVELS) => (facts: object, msg: string) => {
    if (!SHOWN[level].test(logLevel)) return;
    const line = {
      level: LEVELS[level],
      time: Date.now(),
      pid: process.pid,
      hostname: hostname(),
      ...facts,
      msg,
    };
    logTo.write(`${JSON.stringify(line)}\n`);
  };
  return { info: write('info'), warn: write('warn') };
}
