"""The only room that starts programs: commands of the model, and the search program. What differs by system is here."""
