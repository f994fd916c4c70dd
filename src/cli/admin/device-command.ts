/** `reveille device …`: one device at a time. */
import type { Command } from 'commander';
import { addExamples, contextOf } from '../shell/command-context.ts';
import { addDevice, disableDevice, kickDevice, showDevice, type AddDeviceOptions } from './device-actions.ts';
import { parseDeviceIdOption, parseMoment } from '../shell/option-values.ts';

export function addDeviceCommand(program: Command): void {
  const device = program.command('device').description('Add, show, disable or kick one device.');
  addExamples(
    device,
    ['device add DOOR-1 --product doorbell', 'a new device; its secret is made and shown'],
    ['device show DOOR-1', 'what the registry has of it'],
  );
  addAdd(device);
  addShow(device);
  addDisable(device);
  addKick(device);
}

function addAdd(device: Command): void {
  const command = device
    .command('add')
    .description('Add a device to a product. Its secret is made when none is given, and shown.')
    .argument('<id>', '1-255 bytes of UTF-8', parseDeviceIdOption)
    .requiredOption('--product <id>', 'the product it belongs to')
    .option('--secret <secret>', 'what its login proves, 16 characters or more; made when left out')
    .option('--expires-at <moment>', 'Unix seconds or ISO 8601; never when left out', parseMoment)
    .option('--replace', 'also when there is a device of this id: it gets a new secret')
    .action((id: string, options: AddDeviceOptions, self: Command) =>
      addDevice(contextOf(self), id, options),
    );
  addExamples(
    command,
    ['device add DOOR-1 --product doorbell', 'with a secret that is made here'],
    ['device add DOOR-1 --product doorbell --expires-at 2027-12-31', 'until a day'],
    ['device add DOOR-1 --product doorbell --replace', 'a new secret for a device that is there'],
  );
}

function addShow(device: Command): void {
  const command = device
    .command('show')
    .description('Show what the registry has of a device; its secret is masked.')
    .argument('<id>', 'the device', parseDeviceIdOption)
    .action((id: string, _options: object, self: Command) => showDevice(contextOf(self), id));
  addExamples(command, ['device show DOOR-1', 'for people'], ['device show DOOR-1 --json', 'for machines']);
}

function addDisable(device: Command): void {
  const command = device
    .command('disable')
    .description('Answer a device like one that does not exist, and end its sessions.')
    .argument('<id>', 'the device', parseDeviceIdOption)
    .option('--enable', 'the other way round')
    .action((id: string, options: { enable?: boolean }, self: Command) =>
      disableDevice(contextOf(self), id, options.enable !== true),
    );
  addExamples(
    command,
    ['device disable DOOR-1', 'from now on'],
    ['device disable DOOR-1 --enable', 'back again'],
  );
}

function addKick(device: Command): void {
  const command = device
    .command('kick')
    .description("End a device's signal and sleep sessions; it may log in again.")
    .argument('<id>', 'the device', parseDeviceIdOption)
    .action((id: string, _options: object, self: Command) => kickDevice(contextOf(self), id));
  addExamples(
    command,
    ['device kick DOOR-1', 'its controller is told with close code 4410; both may log in anew'],
    ['device kick DOOR-1 --json', 'for machines: {"kicked":true,"sessions":["signal","sleep"]}'],
  );
}
