{
  query(root, body) { return this.queryAll(root, body)[0]; },
  queryAll(root, body) {
    const [text, argument, isSearch] = JSON.parse(decodeURIComponent(body));
    const box = document.createElement('template');
    let said;
    try {
      const found = (0, eval)(`(${text})`)(root, argument);
      if (isSearch) return Array.isArray(found) ? found : found ? [found] : [];
      said = {value: found ?? null};
    } catch (error) {
      if (isSearch) throw error;
      said = {error: String(error)};
    }
    box.textContent = JSON.stringify(said);
    return [box];
  },
}
