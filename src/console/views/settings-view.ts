/** The settings in force, secrets masked: those that differ from their defaults first. */
import type { SettingJson, SettingsJson } from '../../server/config/settings-route.ts';
import { code, el } from '../dom.ts';
import { badge, dataTable, sentenceOf, type Page, type View } from '../page.ts';
import { plural } from '../text.ts';

export function openSettings(page: Page): View {
  const list = el('div', {}, el('p', {}, 'Looking …'));
  const search = el('input', { id: 'find', type: 'search', autocomplete: 'off' });
  let settings: readonly SettingJson[] = [];
  const show = (): void => {
    const wanted = search.value.trim().toLowerCase();
    const found = settings.filter(({ name, description }) =>
      `${name} ${description}`.toLowerCase().includes(wanted),
    );
    const ordered = [...found].sort((one, other) => Number(other.changed) - Number(one.changed));
    const rows = ordered.map(({ name, value, changed, description }) => [
      el('span', {}, code(name), ' ', changed ? badge('changed', 'calm') : ''),
      code(shownValue(value)),
      description,
    ]);
    const columns = [{ name: 'Setting' }, { name: 'Value' }, { name: 'Meaning', isWide: true }];
    list.replaceChildren(
      el('p', { role: 'status' }, `${plural(rows.length, 'setting')}.`),
      dataTable('Settings', columns, rows),
    );
  };
  search.addEventListener('input', show);
  const look = async (): Promise<void> => {
    try {
      ({ settings } = await page.client.read<SettingsJson>('/v1/settings'));
      show();
    } catch (error) {
      list.replaceChildren(el('p', { class: 'trouble', role: 'alert' }, sentenceOf(error)));
    }
  };
  void look();
  const form = el('div', { class: 'search' }, el('div', {}, el('label', { for: 'find' }, 'Find'), search));
  return {
    title: 'Settings',
    content: el(
      'div',
      {},
      el(
        'p',
        { class: 'faint' },
        'As this server runs with them. They are changed in its settings file, and by a restart.',
      ),
      form,
      list,
    ),
    close: () => undefined,
  };
}

function shownValue(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'nothing' : value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
