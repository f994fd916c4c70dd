/** `reveille refused`: the logins that the running server has refused, each with the reason that its device does not read. */
import { Option, type Command } from 'commander';
import type { RefusedAnswer, RefusedLoginJson } from '../../gateways/admin/refused-route.ts';
import { connectionKinds, type ConnectionKind } from '../../model/cluster.ts';
import { loginTroubles, type LoginTrouble } from '../../model/connectivity.ts';
import { refusedLoginsShownMax } from '../../model/limits.ts';
import { newCommand } from '../shell/command-context.ts';
import { ageInWords, counted, parseDeviceIdOption, wholeNumberOption } from '../shell/option-values.ts';
import { tableOf } from '../shell/output.ts';
import { asking } from './ops-action.ts';

/** The cause of each reason, for people. */
export const troubleCauses: Readonly<Record<LoginTrouble, string>> = {
  wrong_mac: 'the device does not have the secret that the registry has for it',
  unknown: 'the id is not in the registry',
  disabled: 'the device is disabled in the registry',
  expired: 'the device has expired in the registry',
  busy: 'the listener was full, or the store was behind',
  too_fast: 'the device logged in more often than limits.device_logins_per_second',
  conflict: 'not refused: two units with one id replace each other, or a secret was copied',
};

interface RefusedOptions {
  readonly device?: string;
  readonly port?: ConnectionKind;
  readonly reason?: LoginTrouble;
  readonly limit: number;
}

export function addRefusedCommand(program: Command): void {
  newCommand(
    program,
    'refused',
    'List refused logins of devices since the start of the server, the latest first: a row for each device, port and ' +
      'reason. Devices whose sessions keep replacing each other are listed as conflict.',
    '--device DOOR-1',
    '--reason wrong_mac',
  )
    .option('--device <id>', 'only of this device', parseDeviceIdOption)
    .addOption(new Option('--port <port>', 'only at this port').choices(connectionKinds))
    .addOption(new Option('--reason <reason>', 'only with this reason').choices(loginTroubles))
    .option('--limit <count>', 'at most so many', wholeNumberOption(1, refusedLoginsShownMax), 100)
    .action(
      asking('/v1/refused', {
        send: ({ device, port, reason, limit }: RefusedOptions) => ({
          device_id: device,
          connection: port,
          reason,
          limit,
        }),
        say: ({ refused }: RefusedAnswer, { clock }) =>
          refused.length === 0 ? 'no such login was refused' : refusedTable(refused, clock.wallMs()),
        remarks: remarksOn,
      }),
    );
}

export function refusedTable(refused: readonly RefusedLoginJson[], nowMs: number): string {
  return tableOf(refused, {
    DEVICE: (row) => row.device_id,
    PORT: ({ connection }) => connection,
    REASON: ({ reason }) => reason,
    COUNT: ({ count }) => count,
    LAST: (row) => ageInWords(Date.parse(row.last_at), nowMs),
    FIRST: (row) => ageInWords(Date.parse(row.first_at), nowMs),
    FROM: ({ addresses }) => (addresses.length === 0 ? null : addresses.toReversed().join(', ')),
    APPLICATION: (row) => row.app_id,
  });
}

function remarksOn({ refused, more, forgotten }: RefusedAnswer): readonly string[] {
  const reasons = new Set(refused.map(({ reason }) => reason));
  return [
    ...[...reasons].map((reason) => `${reason}: ${troubleCauses[reason]}`),
    ...(more ? ['there are more: ask for them with --limit, or with --device'] : []),
    ...(forgotten > 0
      ? [`${counted(forgotten, 'older row')} had no room; reveille_refused_logins_total has all`]
      : []),
  ];
}
