import { readConfig } from '../config.ts';
import { checkInstallation, type Finding } from './doctor-checks.ts';

/** `relata doctor`: what is wrong with an installation, and what to do. @returns 1 when there are problems, 0 with warnings alone */
export async function doctorCommand({ json = false }: { json?: boolean | undefined }): Promise<number> {
  const findings: Finding[] = [];
  for await (const finding of checkInstallation(readConfig())) {
    findings.push(finding);
    if (!json) console.log(describeFinding(finding));
  }
  const count = (status: Finding['status']) => findings.filter((one) => one.status === status).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  const summary = `${problems} problems, ${warnings} warnings`;
  console.log(json ? JSON.stringify({ problems, warnings, checks: findings }, null, 2) : summary);
  return Math.min(problems, 1);
}

const INDENT = 9;

function describeFinding({ status, check, message, action }: Finding): string {
  const line = `${status.padEnd(INDENT)}${check}: ${message}`;
  return action === undefined ? line : `${line}\n${' '.repeat(INDENT)}${action}`;
}
