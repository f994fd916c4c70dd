/** `reveille upgrade`: replaces the running core by the release in place. Source: docs/upgrading.md, Upgrading. */
import type { Command } from 'commander';
import type { SiteJson } from '../../server/site/site-route.ts';
import type { CoreJson, UpgradeJson } from '../../server/site/upgrade-routes.ts';
import { pause } from '../../lib/clock.ts';
import { newCommand, type CommandContext, inContext, untilInterrupted } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';
import { confirmAt } from '../shell/dialogue.ts';
import { nothingChanged } from './ops-client.ts';
import { OpsUnavailableError } from './ops-refusal.ts';
import { opsClient } from './running-server.ts';

export function addUpgradeCommand(program: Command): void {
  newCommand(
    program,
    'upgrade',
    'Replace the core by the release in place, as SIGUSR2 does: no sleeping device is disconnected, no request fails. ' +
      'Fails if the old release continues.',
    '',
    ['--edges', 'says how many sessions it closes, and asks'],
  )
    .option('--edges', 'replace the edges as well, one after another, which closes their sockets')
    .option('--yes', 'close them without asking')
    .action(inContext(upgrade));
}

interface UpgradeOptions {
  readonly edges?: boolean;
  readonly yes?: boolean;
}

async function upgrade(
  context: CommandContext,
  { edges = false, yes = false }: UpgradeOptions,
): Promise<void> {
  if (edges && !yes) await untilInterrupted((signal) => confirm(context, signal));
  const begun = await opsClient(context).change<CoreJson>('/v1/upgrade', { edges });
  const now = await finished(context, begun);
  const before = { pid: begun.pid, version: begun.version };
  const after = { pid: now.pid, version: now.version };
  context.output.answer(
    { before, after },
    `release ${after.version} (process ${after.pid}) has taken over from ${before.version} (process ${before.pid})`,
  );
}

/** Throws a CommandError if the answer is no or there is no terminal to ask at. */
async function confirm(context: CommandContext, signal: AbortSignal): Promise<void> {
  const { processes } = await opsClient(context).ask<SiteJson>('/v1/site');
  // Only edges that this machine's supervisor started.
  const local = processes.filter(({ kind, restarts }) => kind === 'edge' && restarts !== null);
  const sessions = local.reduce((sum, edge) => sum + (edge.sleep_sessions ?? 0), 0);
  const closes = `${sessions} sleep sessions of ${local.length} edges; their devices log in again`;
  if (context.openDialogue === null)
    throw new CommandError(`--edges closes ${closes}`, 'run it at a terminal, or add --yes');
  context.output.remark(`this closes ${closes}`);
  const refused = new CommandError('not upgraded: you said no', nothingChanged);
  await confirmAt(context.openDialogue, 'Close them? [y/N]', signal, refused);
}

const askEveryMs = 250;
/** Maximum wait for a status. A core that imports a registry before it serves may need longer; the error says so. */
const silentMsMax = 180_000;

/** Waits for the new core. Throws if the upgrade failed. */
async function finished(context: CommandContext, { pid }: CoreJson): Promise<UpgradeJson> {
  const { clock } = context;
  let heardMs = clock.monotonicMs();
  while (clock.monotonicMs() - heardMs < silentMsMax) {
    await pause(clock, askEveryMs);
    const now = await ask(context);
    if (now === null) continue;
    heardMs = clock.monotonicMs();
    if (now.upgrading) continue;
    if (now.failure === null && now.pid !== pid) return now;
    throw failed(now, pid);
  }
  throw new CommandError(`no core has answered for ${silentMsMax / 1000} s`, "see the server's log");
}

function failed({ pid, failure }: UpgradeJson, before: number): CommandError {
  const reason = failure ?? 'no reason was given';
  return pid === before
    ? new CommandError(
        `not upgraded, and the old release continues: ${reason}`,
        'fix the problem, and upgrade again',
      )
    : new CommandError(`upgraded in part: ${reason}`, "see the server's log");
}

/** Null while the core starts, stops or is being replaced. */
async function ask(context: CommandContext): Promise<UpgradeJson | null> {
  try {
    return await opsClient(context).ask<UpgradeJson>('/v1/upgrade');
  } catch (error) {
    if (error instanceof OpsUnavailableError) return null;
    throw error;
  }
}
