/** The alarms of this server: active and recently resolved ones, each with its remedy. */
import type { AlarmJson, AlarmsAnswer } from '../../server/health/alarm-watch.ts';
import { code, el } from '../dom.ts';
import { dataTable, polledView } from '../lists.ts';
import { badge, moment, section, type Page, type View } from '../page.ts';

const everyMs = 5000;

export function openAlarms(page: Page): View {
  return polledView(
    'Alarms',
    everyMs,
    () => page.client.read<AlarmsAnswer>('/v1/alarms'),
    ({ alarms, resolved }) => [
      alarmTable('Alarms', 'No alarm is active.', alarms),
      ...(resolved.length === 0
        ? []
        : [section('Recently resolved', {}, alarmTable('Recently resolved', 'None.', resolved))]),
      el(
        'p',
        { class: 'faint' },
        'Evaluated every 15 s, for this server only. readyz is its readiness, doctor a check of its machine; the others are the alerts for Prometheus. A pending alarm fires if its condition persists.',
      ),
    ],
  );
}

function alarmTable(caption: string, empty: string, alarms: readonly AlarmJson[]): HTMLElement {
  return dataTable(caption, empty, alarms, [
    { name: 'Alarm', cell: ({ name, of }) => el('bdi', {}, `${name} ${of}`.trim()) },
    {
      name: 'State',
      cell: ({ state, severity }) => badge(stateOf(state, severity), kindOf(state, severity)),
    },
    { name: 'Since', cell: ({ since }) => moment(Date.parse(since)), isWide: true },
    ...(alarms.some((alarm) => alarm.resolved_at !== null)
      ? [{ name: 'Until', cell: (alarm: AlarmJson) => moment(Date.parse(alarm.resolved_at ?? '')) }]
      : []),
    {
      name: 'Meaning',
      cell: ({ meaning, found }) => words(meaning === null ? found : `${meaning} (${found})`),
      isWide: true,
    },
    { name: 'To do', cell: ({ cure }) => words(cure ?? ''), isWide: true },
  ]);
}

function stateOf(state: AlarmJson['state'], severity: AlarmJson['severity']): string {
  return state === 'firing' ? severity : state;
}

function kindOf(
  state: AlarmJson['state'],
  severity: AlarmJson['severity'],
): 'bad' | 'warn' | 'calm' | 'plain' {
  if (state === 'resolved') return 'plain';
  if (state === 'pending') return 'calm';
  return severity === 'critical' ? 'bad' : 'warn';
}

function words(text: string): HTMLElement {
  return el('span', {}, ...text.split('`').map((part, at) => (at % 2 === 1 ? code(part) : part)));
}
