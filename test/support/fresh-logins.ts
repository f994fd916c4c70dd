/**
 * Devices that log in at one member and are woken at another in the same moment: no wakeup may be told that the device is
 * not there. Source: docs/cluster.md, Just after a login.
 */
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import type { ApiAnswer } from './api-client.ts';
import { wake } from './site-server.ts';
import type { ApiClient } from './api-client.ts';

export interface FreshLogins {
  readonly logins: number;
  /** So many devices log in at a time. */
  readonly atOnce: number;
  login(device: number): Promise<SleepingModule>;
  /** Whoever is asked to wake this device. */
  askedFor(device: number): ApiClient;
}

/** How often each answer was given, by status and code. */
export async function wakeFreshLogins(scene: FreshLogins): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const left = Array.from({ length: scene.logins }, (_, device) => device).values();
  const runs = Array.from({ length: scene.atOnce }, async () => {
    for (const device of left) {
      const answer = await wakeFresh(scene, device);
      const seen = `${answer.status} ${answer.json.code ?? answer.text}`;
      counts.set(seen, (counts.get(seen) ?? 0) + 1);
    }
  });
  await Promise.all(runs);
  return counts;
}

async function wakeFresh(scene: FreshLogins, device: number): Promise<ApiAnswer> {
  const api = scene.askedFor(device);
  const module = await scene.login(device);
  const answer = await wake(api, device);
  await module.close();
  return answer;
}
