/**
 * An attacker process: repeats one group of attacks concurrently until the parent ends it. Arguments: the group and the ports.
 * Reports once a second how often the server reacted to each attack.
 */
import type { ListenerPorts } from '../../support/server-process.ts';
import { accounts } from './accounts.ts';
import type { Attack, Tally } from './attack.ts';
import { callers } from './callers.ts';
import { strangers } from './strangers.ts';

const groups: Readonly<Record<string, Readonly<Record<string, Attack>>>> = { strangers, accounts, callers };
const [, , group = '', ports = ''] = process.argv;

const tallies: Record<string, Tally> = {};
for (const [name, attack] of Object.entries(groups[group] ?? {})) {
  const tally = { done: 0, failure: '' };
  tallies[name] = tally;
  attack(JSON.parse(ports) as ListenerPorts, tally);
}
setInterval(() => process.send?.(tallies), 1000);
process.once('disconnect', () => process.exit(0));
