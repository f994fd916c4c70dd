/** The settings in force, secrets masked, with source and reason; those that differ from their defaults first. */
import type { SettingJson, SettingsJson } from '../../server/config/settings-route.ts';
import { code, el } from '../dom.ts';
import { dataTable, labelled, readOnce } from '../lists.ts';
import { badge, troubleLine, type Page, type View } from '../page.ts';
import { plural } from '../text.ts';

export function openSettings(page: Page): View {
  const search = el('input', { id: 'find', type: 'search', autocomplete: 'off' });
  let settings: readonly SettingJson[] = [];
  let problem: string | null = null;
  const parts = (): HTMLElement[] => {
    const wanted = search.value.trim().toLowerCase();
    const found = settings.filter(({ name, description }) =>
      `${name} ${description}`.toLowerCase().includes(wanted),
    );
    const ordered = [...found].sort((one, other) => rankOf(other) - rankOf(one));
    return [
      ...(problem === null ? [] : [troubleLine(`A restart would fail: ${problem}`)]),
      el('p', { role: 'status' }, `${plural(ordered.length, 'setting')}.`),
      dataTable('Settings', 'None.', ordered, [
        { name: 'Setting', cell: (each) => el('span', {}, code(each.name), ' ', ...badgesOf(each)) },
        { name: 'In force', cell: (each) => el('span', {}, code(shownValue(each.value)), causeOf(each)) },
        { name: 'Source', cell: ({ origin }) => origin },
        { name: 'Meaning', cell: ({ description }) => description, isWide: true },
      ]),
    ];
  };
  const { element: list, close } = readOnce(async () => {
    ({ settings, file_problem: problem } = await page.client.read<SettingsJson>('/v1/settings'));
    return parts();
  });
  search.addEventListener('input', () => list.replaceChildren(...parts()));
  return {
    title: 'Settings',
    content: el(
      'div',
      {},
      el(
        'p',
        { class: 'faint' },
        'The settings that this server runs with. Change them in its settings file and restart it.',
      ),
      el('div', { class: 'search' }, labelled('Find', search)),
      list,
    ),
    close,
  };
}

/** Settings that wait for a restart first, then lowered ones, then changed ones. */
function rankOf(setting: SettingJson): number {
  const isSet = Number(setting.changed);
  return isSet + 2 * Number(isOther(setting) && setting.changed) + 4 * Number(isChanging(setting));
}

function badgesOf(setting: SettingJson): HTMLElement[] {
  return [
    ...(setting.changed ? [badge('changed', 'calm')] : []),
    ...(isChanging(setting) ? [badge('restart needed', 'warn')] : []),
  ];
}

function causeOf(setting: SettingJson): string {
  const { configured, reason, after_restart: next } = setting;
  const cause = isOther(setting) ? ` configured ${shownValue(configured)}: ${reason}` : '';
  return isChanging(setting) ? `${cause} ${shownValue(next)} after a restart` : cause;
}

function isOther(setting: SettingJson): boolean {
  return Object.hasOwn(setting, 'configured');
}

function isChanging(setting: SettingJson): boolean {
  return Object.hasOwn(setting, 'after_restart');
}

function shownValue(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'nothing' : value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
