/** Starts the load process; failed logins and lost sessions count as trouble. */
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { Player } from '../harness/child.ts';
import type { Trouble } from '../harness/trouble.ts';
import type { LoginPlan, LoginReading } from './fleet.ts';
import type { LoadProtocol } from './load-process.ts';

export type Players = Player<LoadProtocol>;

export function startPlayers(): Players {
  return new Player(moduleBeside('./load-process', import.meta.url));
}

export async function logIn(players: Players, plan: LoginPlan, trouble: Trouble): Promise<LoginReading> {
  const reading = await players.service.ask('login', plan);
  if (reading.failed > 0)
    trouble.add(`${plan.dialect}: ${reading.failed} logins failed: ${reading.firstTrouble}`);
  return reading;
}

export async function expectNoneLost(players: Players, row: string, trouble: Trouble): Promise<void> {
  const lost = await players.service.ask('lost', null);
  if (lost > 0) trouble.add(`${row}: ${lost} sessions were lost`);
}
