/** The attacker processes, controlled by the parent. */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../../src/lib/module-worker.ts';
import type { ListenerPorts } from '../../support/server-process.ts';
import type { Tally } from './attack.ts';

const groups = ['strangers', 'accounts', 'callers'];
const attacksMin = 12;

export class Assault {
  readonly complaints: string[] = [];
  readonly #children: readonly ChildProcess[];
  #tallies: Readonly<Record<string, Tally>> = {};

  constructor(ports: ListenerPorts) {
    const file = fileURLToPath(moduleBeside('attackers', import.meta.url));
    this.#children = groups.map((group) => {
      const child = fork(file, [group, JSON.stringify(ports)]);
      child.on('message', (tallies: object) => (this.#tallies = { ...this.#tallies, ...tallies }));
      child.on('exit', (code) => this.complaints.push(`the attackers ended: ${group}, ${code}`));
      return child;
    });
  }

  figures(): object {
    return Object.fromEntries(Object.entries(this.#tallies).map(([name, { done }]) => [name, done]));
  }

  /** Reports attacks without any effect. */
  judge(): readonly string[] {
    const tallies = Object.entries(this.#tallies);
    const idle = tallies
      .filter(([, { done }]) => done === 0)
      .map(([name, { failure }]) => `the attack ${name} did nothing: ${failure}`);
    const few = tallies.length < attacksMin ? [`${tallies.length} attacks ran`] : [];
    return [...this.complaints, ...few, ...idle];
  }

  end(): void {
    for (const child of this.#children) {
      child.removeAllListeners('exit');
      child.kill('SIGKILL');
    }
  }
}
