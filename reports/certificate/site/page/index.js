'use strict';
const protocol = document.querySelector('#protocol');
const clause = document.querySelector('#clause');
const tables = [...document.querySelectorAll('details[data-party]')];
const none = document.querySelector('#none');

function filter() {
  const wanted = clause.value.trim().toLowerCase();
  let shown = 0;
  for (const table of tables) {
    let found = 0;
    for (const row of table.querySelectorAll('tbody tr')) {
      row.hidden = !row.dataset.words.toLowerCase().includes(wanted);
      found += row.hidden ? 0 : 1;
    }
    table.hidden = found === 0 || (protocol.value !== '' && table.dataset.party !== protocol.value);
    table.open = !table.hidden && (wanted !== '' || protocol.value !== '');
    shown += table.hidden ? 0 : 1;
  }
  for (const cell of document.querySelectorAll('[data-of]')) {
    cell.hidden = protocol.value !== '' && cell.dataset.of !== protocol.value;
  }
  none.hidden = shown > 0;
}

// what has expired since the site was made is shown as expired
const today = new Date().toISOString().slice(0, 10);
for (const mark of document.querySelectorAll('[data-expires]')) {
  if (mark.dataset.expires < today) {
    mark.className = 'soft';
    mark.textContent = mark.dataset.expired;
  }
}
for (const input of [protocol, clause]) {
  input.addEventListener('input', filter);
}
document.querySelector('form').addEventListener('submit', (event) => event.preventDefault());
document.querySelector('form').hidden = false;
filter();
