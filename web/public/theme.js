// Before anything is drawn: the theme that was chosen here, if one was. A file of its own, because inline scripts are refused.
try {
  const theme = localStorage.getItem("gleaner-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing shows the system's theme.
}
