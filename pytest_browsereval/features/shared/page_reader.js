(limit, places) => {
  const seen = {title: document.title.slice(0, limit), storage: {}};
  for (const [place, kind, key] of places) {
    try {
      const value = window[kind].getItem(key);
      if (value === null || value.length <= limit) seen.storage[place] = {value};
    } catch { /* the page has no storage */ }
  }
  return seen;
}
