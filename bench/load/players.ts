/** Starts the processes that play backends and devices, and takes no failed login for granted. */
import { constants, setPriority } from 'node:os';
import { Child, loadCore } from './child.ts';
import type { LoginPlan, LoginReading } from './fleet.ts';
import type { LocalLegService } from './ipc.ts';
import { loadService, type LoadProtocol } from './load-protocol.ts';
import type { Trouble } from './trouble.ts';

export interface Players {
  readonly child: Child;
  readonly service: LocalLegService<LoadProtocol>;
}

/**
 * They never rest while they pace requests: where a server's worker threads are given their core, they are to give
 * way. Alone on the core it makes no difference.
 */
export function startPlayers(
  core: number | null = loadCore,
  priority: number = constants.priority.PRIORITY_BELOW_NORMAL,
): Players {
  const child = new Child({ entry: new URL('./load-process.ts', import.meta.url), core });
  child.process.stdout?.resume();
  if (child.process.pid !== undefined) prioritize(child.process.pid, priority);
  return { child, service: child.service(loadService) };
}

/**
 * A backend that asks calmly beside others that want all of a processor: it waits for answers, and not for its turn. Where the system
 * lets nobody but root have more than the usual priority, it has the usual one.
 */
export function startPromptPlayers(core: number | null = loadCore): Players {
  return startPlayers(core, constants.priority.PRIORITY_ABOVE_NORMAL);
}

function prioritize(pid: number, priority: number): void {
  try {
    setPriority(pid, priority);
  } catch (error) {
    if (priority >= 0) throw error;
  }
}

/** Half of what peers' and our per-address bounds and backlogs allow: a burst without losses in the kernel. */
export const loginConcurrency = 500;

export async function logIn(
  players: Players,
  plan: Omit<LoginPlan, 'concurrency'> & Partial<LoginPlan>,
  trouble: Trouble,
): Promise<LoginReading> {
  const reading = await players.service.ask('login', { concurrency: loginConcurrency, ...plan });
  if (reading.failed > 0)
    trouble.add(`${plan.dialect}: ${reading.failed} logins failed: ${reading.firstTrouble}`);
  return reading;
}

export async function expectNoneLost(players: Players, server: string, trouble: Trouble): Promise<void> {
  const lost = await players.service.ask('lost', null);
  if (lost > 0) trouble.add(`${server}: ${lost} sessions were lost`);
}
