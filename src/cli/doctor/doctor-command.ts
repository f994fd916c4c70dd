/** `reveille doctor`: checks a machine before it goes live. Exits 1 if a check fails. */
import type { Command } from 'commander';
import { newCommand, type CommandContext, inLocalContext } from '../shell/command-context.ts';
import { checkCluster } from './doctor-cluster.ts';
import { checkDirectory, isOpenable } from '../../server/health/directory-checks.ts';
import { checkFiles } from '../../server/health/file-checks.ts';
import { checkListeners } from './doctor-listeners.ts';
import { checkMachine } from './doctor-machine.ts';
import type { Finding } from '../../server/health/finding.ts';
import { counted } from '../shell/option-values.ts';

export function addDoctorCommand(program: Command): void {
  newCommand(
    program,
    'doctor',
    'Check this machine and its settings, and advise on each problem. A server may be running.',
    '--config production.json',
  ).action(inLocalContext(examine));
}

async function examine(context: CommandContext): Promise<void> {
  const machine = await checkMachine(context);
  const directory = await checkDirectory(context.dataDirectory);
  const findings = [
    ...machine,
    ...directory,
    ...checkFiles(context.settings, context.settingsSources.file, context.clock.wallMs()),
    ...(await checkStored(context, [...machine, ...directory])),
    ...(await checkListeners(context)),
    ...(await checkCluster(context)),
  ];
  const failed = findings.filter(({ state }) => state === 'fail').length;
  const warned = findings.filter(({ state }) => state === 'warn').length;
  const verdict = `${counted(findings.length, 'check')}, ${failed} failed, ${warned} with a warning`;
  context.output.answer({ ok: failed === 0, findings }, `${describeFindings(findings)}\n${verdict}`);
  if (failed > 0) process.exitCode = 1;
}

/** Opens the store only if its library loads and no finding suggests that this would crash the process. */
async function checkStored(context: CommandContext, findings: readonly Finding[]): Promise<Finding[]> {
  if (findings.some(({ check, state }) => check === 'lmdb' && state === 'fail') || !isOpenable(findings))
    return [];
  const { checkRegistry } = await import('./doctor-registry.ts');
  return checkRegistry(context);
}

function describeFindings(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings
    .map(
      ({ check, state, found, advice }) =>
        `${state.padEnd(4)}  ${check.padEnd(width)}  ${advice === null ? found : `${found}; ${advice}`}`,
    )
    .join('\n');
}
