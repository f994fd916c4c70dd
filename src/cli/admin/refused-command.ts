/** `reveille refused`: lists refused logins, each with a reason that is never sent to the device. */
import { Option, type Command } from 'commander';
import type { RefusedAnswer, RefusedLoginJson } from '../../gateways/admin/refused-route.ts';
import { connectionKinds, type ConnectionKind } from '../../model/cluster.ts';
import { loginTroubles, type LoginTrouble } from '../../model/connectivity.ts';
import { refusedLoginsShownMax } from '../../model/limits.ts';
import { newCommand } from '../shell/command-context.ts';
import { ageInWords, counted, parseDeviceIdOption, wholeNumberOption } from '../shell/option-values.ts';
import { tableOf } from '../shell/output.ts';
import { asking } from './ops-action.ts';

export const troubleCauses: Readonly<Record<LoginTrouble, string>> = {
  wrong_mac: 'the secret of the device differs from the one in the registry',
  unknown: 'the id is not in the registry',
  disabled: 'the device is disabled in the registry',
  expired: 'the device has expired in the registry',
  busy: 'the listener was full, or the store could not keep up',
  too_fast: 'the device logged in more often than limits.device_logins_per_second',
  conflict: 'not refused: two devices with the same id replace each other, or a secret was copied',
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
    'List logins refused since the start of the server, the latest first, with one row for each device, port and ' +
      'reason. Devices whose sessions keep replacing each other are listed as conflict.',
    '--device DOOR-1',
    '--reason wrong_mac',
  )
    .option('--device <id>', 'show only this device', parseDeviceIdOption)
    .addOption(new Option('--port <port>', 'show only logins at this port').choices(connectionKinds))
    .addOption(new Option('--reason <reason>', 'show only this reason').choices(loginTroubles))
    .option('--limit <count>', 'maximum number of rows', wholeNumberOption(1, refusedLoginsShownMax), 100)
    .action(
      asking('/v1/refused', {
        send: ({ device, port, reason, limit }: RefusedOptions) => ({
          device_id: device,
          connection: port,
          reason,
          limit,
        }),
        describe: ({ refused }: RefusedAnswer, { clock }) =>
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
    ...(more ? ['there are more: use a higher --limit, or --device'] : []),
    ...(forgotten > 0
      ? [`${counted(forgotten, 'older row')} dropped; reveille_refused_logins_total counts all`]
      : []),
  ];
}
